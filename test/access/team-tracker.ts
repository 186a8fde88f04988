import { readFileSync } from 'node:fs';
import type { JsonObject } from '../../src/json.js';
import { ADMIN, reference, text, withAccess } from '../support/declared.js';

const idOf = (to: string, onDelete?: string): JsonObject => ({ ...reference(to, onDelete), format: 'uuid' });

/** Conditions that hold for members of a team; with `roles`, for those who have one of them. */
const member = (roles?: readonly string[]): JsonObject => ({
  memberships: { some: { userId: '$caller', ...(roles ? { role: { in: [...roles] } } : {}) } },
});

const collection = (
  properties: JsonObject,
  access: readonly JsonObject[],
  more: JsonObject = {},
  required = Object.keys(properties).slice(0, 1),
): JsonObject => withAccess(properties, [...access, ADMIN], { list: 'page', ...more }, { required });

const inTeam = (roles?: readonly string[]): JsonObject => ({ project: { team: member(roles) } });

/** An issue tracker in which only the members of a team see its records, and what they may write depends on their role. */
export const TEAM_TRACKER: Readonly<Record<string, JsonObject>> = {
  'users.json': {
    ...(JSON.parse(
      readFileSync(new URL('../../../collections/users.json', import.meta.url), 'utf8'),
    ) as JsonObject),
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    'x-collection': {
      owner: true,
      access: [
        { can: 'read', fields: ['name'] },
        { can: ['read', 'update', 'delete'], where: { id: '$caller' } },
        ADMIN,
      ],
    },
  },
  'teams.json': collection({ name: text, ownerId: idOf('users', 'restrict') }, [
    { can: 'read', where: { or: [{ ownerId: '$caller' }, member()] } },
    { can: ['create', 'update', 'delete'], where: { ownerId: '$caller' } },
  ]),
  'memberships.json': collection(
    {
      role: { ...text, enum: ['owner', 'member', 'guest'] },
      teamId: idOf('teams'),
      userId: idOf('users'),
    },
    [
      { can: 'read', where: { team: { or: [{ ownerId: '$caller' }, member()] } } },
      {
        can: ['create', 'update', 'delete'],
        where: { team: { or: [{ ownerId: '$caller' }, member(['owner'])] } },
      },
    ],
    { nested: 'teamId', unique: [['teamId', 'userId']] },
    ['role', 'teamId'],
  ),
  'projects.json': collection(
    { title: { ...text, 'x-search': true }, teamId: idOf('teams') },
    [
      { can: 'read', where: { team: member() } },
      { can: ['create', 'update', 'delete'], where: { team: member(['owner']) } },
    ],
    { nested: 'teamId' },
  ),
  'issues.json': collection(
    {
      title: { ...text, 'x-search': true },
      projectId: idOf('projects'),
      status: { ...text, enum: ['open', 'closed'], default: 'open' },
      estimate: { type: 'number', 'x-index': true },
      assigneeId: idOf('users', 'null'),
      blockedById: idOf('issues', 'null'),
      secret: text,
      text: { type: 'string' },
    },
    [
      {
        can: 'read',
        where: inTeam(),
        fields: ['title', 'projectId', 'status', 'estimate', 'assigneeId', 'blockedById', 'text'],
      },
      { can: 'read', where: inTeam(['owner']) },
      {
        can: ['create', 'update'],
        where: inTeam(['owner', 'member']),
        fields: ['title', 'text', 'status', 'estimate', 'assigneeId', 'blockedById', 'projectId'],
      },
      { can: ['create', 'update'], where: inTeam(['owner']) },
      { can: 'delete', where: inTeam(['owner']) },
    ],
    { nested: 'projectId' },
  ),
  'comments.json': collection(
    { text: { ...text, 'x-search': true }, issueId: idOf('issues'), authorId: idOf('users') },
    [
      { can: 'read', where: { issue: inTeam() } },
      { can: ['create', 'update', 'delete'], where: { authorId: '$caller', issue: inTeam() } },
    ],
    { nested: 'issueId' },
  ),
};
