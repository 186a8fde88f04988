import type { Operation } from '../../actions/operation-step.js';
import { type Resource, writableKeys } from '../../collection/resource.js';
import type { SchemaFiles } from '../../declarations/schema-files.js';
import type { JsonObject } from '../../json.js';
import { createOf, deletionOf, getOf, groupOf, listOf, updateOf, upsertOf } from './operations.js';
import {
  createInput,
  deleteInput,
  getInput,
  groupInput,
  listInput,
  type ToolInput,
  updateInput,
  upsertInput,
} from './tool-inputs.js';

/** A tool: one method of a collection. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ToolInput;
  readonly annotations: Annotations;
  /** The method and a path of the request, which decide whether the tool is listed for a caller. */
  readonly method: string;
  readonly samplePath: string;
  /** `record`: with its ETag. */
  readonly returns: 'list' | 'record' | 'deletion';
  /** The argument that is checked with the record, by the rules of the collection. */
  readonly body?: 'record' | 'patch';
  /** The request of a call. */
  readonly operationOf: (args: JsonObject) => Operation;
}

/** Hints for clients that decide whether a call needs a confirmation. */
interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

const NO_HINTS: Annotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};
const READS = { readOnlyHint: true, idempotentHint: true };
const CHANGES = { destructiveHint: true, idempotentHint: true };

/** The texts of a tool, its hints that differ, and all else. */
type Details = Omit<Tool, 'name' | 'title' | 'description' | 'annotations'>;
type MakeTool = (
  verb: string,
  title: string,
  description: string,
  hints: Partial<Annotations>,
  rest: Details,
) => Tool;

/** The tools of a collection: an upsert needs a unique key. `requiresMatch`: writes need the ETag of the record. */
export function toolsOf(resource: Resource, files: SchemaFiles, requiresMatch: boolean): Tool[] {
  const { name, schema } = resource;
  const about = typeof schema.description === 'string' ? ` ${schema.description}` : '';
  const make: MakeTool = (verb, title, description, hints, rest) => ({
    name: `${name}_${verb}`,
    title,
    description: description + about,
    annotations: { ...NO_HINTS, ...hints },
    ...rest,
  });
  return [...readingTools(resource, make), ...writingTools(resource, files, requiresMatch, make)];
}

function readingTools(resource: Resource, make: MakeTool): Tool[] {
  const { name, singular } = resource;
  const list = `/${name}`;
  const page = { method: 'GET', samplePath: list, returns: 'list' } as const;
  return [
    make(
      'list',
      `List ${name}`,
      `Lists records of ${name}, up to 100 a page, as {data, meta, links}.`,
      READS,
      {
        ...page,
        inputSchema: listInput(resource),
        operationOf: listOf(list),
      },
    ),
    make(
      'group',
      `Count and sum ${name}`,
      `Groups records of ${name}, and counts or sums each group, as {data, meta}. Without a group, all records are one.`,
      READS,
      { ...page, inputSchema: groupInput(resource), operationOf: groupOf(list) },
    ),
    make(
      'get',
      `Get one record of ${name}`,
      `Gets one ${singular} by its id, as {etag, record}. Send the etag with a change of the record.`,
      READS,
      {
        ...{ method: 'GET', samplePath: `${list}/:id`, returns: 'record' },
        inputSchema: getInput(resource),
        operationOf: getOf(list, resource),
      },
    ),
  ];
}

function writingTools(
  resource: Resource,
  files: SchemaFiles,
  requiresMatch: boolean,
  make: MakeTool,
): Tool[] {
  const { name, singular } = resource;
  const list = `/${name}`;
  const tools = [
    make(
      'create',
      `Create a record of ${name}`,
      `Creates one ${singular}. Returns {etag, record}.`,
      {},
      {
        ...{ method: 'POST', samplePath: list, returns: 'record', body: 'record' },
        inputSchema: createInput(resource, files),
        operationOf: createOf(list),
      },
    ),
    make(
      'update',
      `Change a record of ${name}`,
      `Changes fields of one ${singular} (JSON merge patch). Returns {etag, record}.`,
      CHANGES,
      {
        ...{ method: 'PATCH', samplePath: `${list}/:id`, returns: 'record', body: 'patch' },
        inputSchema: updateInput(resource, files, requiresMatch),
        operationOf: updateOf(list),
      },
    ),
    make('delete', `Delete a record of ${name}`, `Deletes one ${singular}. This cannot be undone.`, CHANGES, {
      ...{ method: 'DELETE', samplePath: `${list}/:id`, returns: 'deletion' },
      inputSchema: deleteInput(requiresMatch),
      operationOf: deletionOf(list),
    }),
  ];
  if (writableKeys(resource).length === 0) return tools;
  const upsert = make(
    'upsert',
    `Create or replace a record of ${name}`,
    `Replaces the ${singular} with the values of a unique key, or creates it. Returns {etag, record}.`,
    CHANGES,
    {
      ...{ method: 'PUT', samplePath: list, returns: 'record', body: 'record' },
      inputSchema: upsertInput(resource, files),
      operationOf: upsertOf(list, resource),
    },
  );
  return [...tools, upsert];
}
