import type { Operation } from '../../actions/batch-operations.js';
import { writableKeys } from '../../actions/upsert.js';
import type { Resource } from '../../collection/resource.js';
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
  readonly body: 'record' | 'patch' | undefined;
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

const READS: Annotations = hints({ readOnlyHint: true, idempotentHint: true });

function hints(differing: Partial<Annotations>): Annotations {
  const none = { readOnlyHint: false, destructiveHint: false, idempotentHint: false };
  return { ...none, openWorldHint: false, ...differing };
}

/** The tools of a collection: an upsert needs a unique key. `requiresMatch`: writes need the ETag of the record. */
export function toolsOf(resource: Resource, files: SchemaFiles, requiresMatch: boolean): Tool[] {
  return [
    ...readingTools(resource),
    ...writingTools(resource, files, requiresMatch),
    ...(writableKeys(resource).length > 0 ? [upsertTool(resource, files)] : []),
  ];
}

function readingTools(resource: Resource): Tool[] {
  const { name, singular } = resource;
  const about = aboutOf(resource);
  const { list, one } = pathsOf(resource);
  return [
    {
      name: `${name}_list`,
      title: `List ${name}`,
      description: `Lists records of ${name}, up to 100 a page, as {data, meta, links}.${about}`,
      inputSchema: listInput(resource),
      annotations: READS,
      method: 'GET',
      samplePath: list,
      returns: 'list',
      body: undefined,
      operationOf: listOf(list),
    },
    {
      name: `${name}_group`,
      title: `Count and sum ${name}`,
      description: `Groups records of ${name}, and counts or sums each group, as {data, meta}. Without a group, all records are one.${about}`,
      inputSchema: groupInput(resource),
      annotations: READS,
      method: 'GET',
      samplePath: list,
      returns: 'list',
      body: undefined,
      operationOf: groupOf(list),
    },
    {
      name: `${name}_get`,
      title: `Get one record of ${name}`,
      description: `Gets one ${singular} by its id, as {etag, record}. Send the etag with a change of the record.${about}`,
      inputSchema: getInput(resource),
      annotations: READS,
      method: 'GET',
      samplePath: one,
      returns: 'record',
      body: undefined,
      operationOf: getOf(list, resource),
    },
  ];
}

function writingTools(resource: Resource, files: SchemaFiles, requiresMatch: boolean): Tool[] {
  const { name, singular } = resource;
  const about = aboutOf(resource);
  const { list, one } = pathsOf(resource);
  return [
    {
      name: `${name}_create`,
      title: `Create a record of ${name}`,
      description: `Creates one ${singular}. Returns {etag, record}.${about}`,
      inputSchema: createInput(resource, files),
      annotations: hints({}),
      method: 'POST',
      samplePath: list,
      returns: 'record',
      body: 'record',
      operationOf: createOf(list),
    },
    {
      name: `${name}_update`,
      title: `Change a record of ${name}`,
      description: `Changes fields of one ${singular} (JSON merge patch). Returns {etag, record}.${about}`,
      inputSchema: updateInput(resource, files, requiresMatch),
      annotations: hints({ destructiveHint: true, idempotentHint: true }),
      method: 'PATCH',
      samplePath: one,
      returns: 'record',
      body: 'patch',
      operationOf: updateOf(list),
    },
    {
      name: `${name}_delete`,
      title: `Delete a record of ${name}`,
      description: `Deletes one ${singular}. This cannot be undone.${about}`,
      inputSchema: deleteInput(requiresMatch),
      annotations: hints({ destructiveHint: true, idempotentHint: true }),
      method: 'DELETE',
      samplePath: one,
      returns: 'deletion',
      body: undefined,
      operationOf: deletionOf(list),
    },
  ];
}

/** For collections with a unique key. */
function upsertTool(resource: Resource, files: SchemaFiles): Tool {
  const { name, singular } = resource;
  const { list } = pathsOf(resource);
  return {
    name: `${name}_upsert`,
    title: `Create or replace a record of ${name}`,
    description: `Replaces the ${singular} with the values of a unique key, or creates it. Returns {etag, record}.${aboutOf(resource)}`,
    inputSchema: upsertInput(resource, files),
    annotations: hints({ destructiveHint: true, idempotentHint: true }),
    method: 'PUT',
    samplePath: list,
    returns: 'record',
    body: 'record',
    operationOf: upsertOf(list, resource),
  };
}

function pathsOf({ name }: Resource): { list: string; one: string } {
  return { list: `/${name}`, one: `/${name}/:id` };
}

function aboutOf({ schema }: Resource): string {
  return typeof schema.description === 'string' ? ` ${schema.description}` : '';
}
