import { readFileSync } from 'node:fs';
import type { Json, JsonObject } from '../../src/json.js';

const reference = (to: string, onDelete = 'cascade'): JsonObject => ({
  type: 'string',
  format: 'uuid',
  'x-references': to,
  'x-on-delete': onDelete,
});
const text: JsonObject = { type: 'string', maxLength: 200, 'x-index': true };

/** Conditions that hold for members of a team; with `roles`, for those who have one of them. */
const member = (roles?: readonly string[]): JsonObject => ({
  memberships: { some: { userId: '$caller', ...(roles ? { role: { in: [...roles] } } : {}) } },
});

const collection = (
  properties: JsonObject,
  access: readonly Json[],
  more: JsonObject = {},
  required = Object.keys(properties).slice(0, 1),
): JsonObject => ({
  type: 'object',
  required,
  properties,
  'x-collection': { list: 'page', access: [...access, { can: 'all', scope: 'admin' }], ...more },
});

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
        { can: 'all', scope: 'admin' },
      ],
    },
  },
  'teams.json': collection({ name: text, ownerId: reference('users', 'restrict') }, [
    { can: 'read', where: { or: [{ ownerId: '$caller' }, member()] } },
    { can: ['create', 'update', 'delete'], where: { ownerId: '$caller' } },
  ]),
  'memberships.json': collection(
    {
      role: { ...text, enum: ['owner', 'member', 'guest'] },
      teamId: reference('teams'),
      userId: reference('users'),
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
    { title: { ...text, 'x-search': true }, teamId: reference('teams') },
    [
      { can: 'read', where: { team: member() } },
      { can: ['create', 'update', 'delete'], where: { team: member(['owner']) } },
    ],
    { nested: 'teamId' },
  ),
  'issues.json': collection(
    {
      title: { ...text, 'x-search': true },
      projectId: reference('projects'),
      status: { ...text, enum: ['open', 'closed'], default: 'open' },
      estimate: { type: 'number', 'x-index': true },
      assigneeId: reference('users', 'null'),
      blockedById: reference('issues', 'null'),
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
    { text: { ...text, 'x-search': true }, issueId: reference('issues'), authorId: reference('users') },
    [
      { can: 'read', where: { issue: inTeam() } },
      { can: ['create', 'update', 'delete'], where: { authorId: '$caller', issue: inTeam() } },
    ],
    { nested: 'issueId' },
  ),
};
