import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../src/json.js';
import { PageVisitor } from '../features/pages/visitor.js';
import { type ServiceResponse, send } from '../support/service.js';
import { FIELDS, NAMES, type Name, PARENTS } from './drawn-rules.js';
import { type Caller, type Failure, NESTED } from './model.js';
import { requireFailure, type Surface, someId } from './reads.js';
import type { World } from './world.js';
import { disturb, failureOf, settle, some, target, withNew } from './writes.js';

const NEW_ID = 'new';

/** The texts of fields as a form has them. */
const textsOf = (record: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(record).map(([field, value]) => [
      `/${field}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );

/** A browser of a caller, and the page that it opens. */
async function opened(world: World, caller: Caller, path: string) {
  const { service } = world;
  // Forms are no part of the OpenAPI document.
  const sending: typeof service.send = (method, path, options) => send(service.url, method, path, options);
  const visitor = new PageVisitor({ ...service, send: sending }, caller.headers);
  world.requests++;
  const page = await visitor.get(path);
  world.requireNoSecrets(caller, page, path);
  return { visitor, page };
}

/** The fields of the form that has a button; undefined: there is no such form. */
function fieldsOf({ text }: ServiceResponse, button: string): Set<string> | undefined {
  const form = [...text.matchAll(/<form[^>]*method="post"[\s\S]*?<\/form>/g)]
    .map(([each]) => each)
    .find((each) => new RegExp(`>${button}[^<]*</button>`).test(each));
  return form === undefined
    ? undefined
    : new Set([...form.matchAll(/name="\/([^"]*)"/g)].map(([, name]) => name!));
}

/** The page that a form leads to, or its failure. */
function requireOutcome(
  world: World,
  caller: Caller,
  found: ServiceResponse,
  failure: Failure | undefined,
  sent: string,
): boolean {
  world.requests++;
  world.requireNoSecrets(caller, found, sent);
  // A form looks its references up before it sends anything: a missing one is a fault of its field, beside others.
  const isReference = found.status === 400 && /No such [^<]* exists\./.test(found.text);
  if (failure && !isReference) requireFailure(world, found, failure, sent);
  else if (failure) world.t.equal(found.status, 400, sent);
  else world.t.equal(found.status, 303, `${sent}: ${found.text}`);
  return !failure;
}

/** The form that creates a record, on the page of a list or of the records below a parent. */
export const fillingToCreate: Surface = async (world, caller) => {
  const { draw, model, t } = world;
  const isNested = draw.maybe(0.3);
  const name = draw.pick(isNested ? NESTED : NAMES);
  const parent = isNested ? PARENTS[name] : undefined;
  const parentId = parent && someId(world, parent.to);
  const path = parent ? `/${parent.to}/${parentId}/${name}` : `/${name}`;
  const { visitor, page } = await opened(world, caller, `${path}?page=1&limit=1&_new=1`);
  const opening = `${caller.label} opens ${path}`;
  const refusal = model.refusal(caller, name, 'read', parent?.to);
  if (refusal) return requireFailure(world, page, refusal, opening);
  if (parent && !model.seen(caller, parent.to).some(({ id }) => id === parentId))
    return requireFailure(world, page, { status: 404 }, opening);
  t.equal(page.status, 200, `${opening}: ${page.text}`);
  const fields = fieldsOf(page, 'Create');
  const might = !model.refusal(caller, name, 'create', parent?.to) && model.might(caller, name, 'create');
  // A form needs a credential.
  if (caller.subject === undefined) return;
  t.equal(fields !== undefined, might, `the form of ${opening}`);
  const isRequired = name === 'issues' && fields && !fields.has('status');
  if (!fields || isRequired) return;
  const body = some(name, world.record(name), (field) => fields.has(field));
  const input = parent ? { ...body, [parent.field]: parentId! } : body;
  const shown = `${opening} and submits ${JSON.stringify(body)}`;
  const found = await visitor.submit(t, page, 'Create', textsOf(body));
  const failure = model.creation(caller, name, input, NEW_ID, parent?.field);
  if (!requireOutcome(world, caller, found, failure, shown)) return;
  const id = /\/([^/?]+)\?_done=created$/.exec(String(found.headers.location))?.[1];
  await settle(world, withNew(model, name, String(id), input), shown);
};

/** The form that changes a record, some submitted after the operator has changed what the caller may do. */
export const fillingToChange: Surface = async (world, caller) => {
  const { draw, t } = world;
  const name = draw.pick(NAMES);
  const before = target(world, caller, name);
  const { id } = before;
  const path = `/${name}/${id}`;
  const { visitor, page } = await opened(world, caller, `${path}?_edit`);
  const opening = `${caller.label} opens ${path}`;
  const refusal = world.model.refusal(caller, name, 'read');
  if (refusal) return requireFailure(world, page, refusal, opening);
  if (!before.record) return requireFailure(world, page, { status: 404 }, opening);
  t.equal(page.status, 200, `${opening}: ${page.text}`);
  if (caller.subject === undefined) return;
  const fields = fieldsOf(page, 'Save');
  t.equal(fields !== undefined, mayChange(world, caller, name, before.record), `the form of ${opening}`);
  if (!fields) return;
  const view = world.model.view(caller, name, before.record)!;
  const patch = drawPatch(world, name, view, fields);
  if (draw.maybe(0.3)) await disturb(world);
  const { model } = world;
  const { record, readable } = target(world, caller, name, id);
  const texts = textsOf(
    Object.fromEntries(Object.entries(patch).map(([field, value]) => [field, value ?? ''])),
  );
  const shown = `${opening} and submits ${JSON.stringify(texts)} for ${JSON.stringify(record)}`;
  const found = await visitor.submit(t, page, 'Save', texts);
  if (!record) {
    const absent = model.refusal(caller, name, 'update') ?? { status: 404 };
    return void requireOutcome(world, caller, found, absent, `${shown} ${page.text}`);
  }
  const after = Object.fromEntries(
    Object.entries({ ...some(name, record, () => true), ...patch }).filter(([, value]) => value !== null),
  ) as JsonObject;
  const unseen = Object.keys(patch).filter((field) => readable !== undefined && !readable.has(field));
  const isStale = record._version !== before.record._version;
  const failure = failureOf(world, caller, name, { record, after, unseen, isStale });
  if (!requireOutcome(world, caller, found, failure, `${shown} ${page.text}`)) return;
  await settle(world, model.changed(name, id, after), shown);
};

/** The fields that a caller enters, with values that differ from those of the page; null: one that it empties. */
function drawPatch(
  world: World,
  name: Name,
  view: JsonObject,
  fields: ReadonlySet<string>,
): Record<string, Json> {
  const { draw } = world;
  const entered = some(name, world.record(name), (field) => fields.has(field) && draw.maybe(0.4));
  const differing = Object.entries(entered).filter(
    ([field, value]) => !isDeepStrictEqual(view[field], value),
  );
  const emptied = Object.keys(FIELDS[name]).filter(
    (field) => field !== 'status' && fields.has(field) && view[field] !== undefined && draw.maybe(0.1),
  );
  return { ...Object.fromEntries(differing), ...Object.fromEntries(emptied.map((field) => [field, null])) };
}

function mayChange({ model }: World, caller: Caller, name: Name, record: JsonObject): boolean {
  return !model.refusal(caller, name, 'update') && model.held(caller, name, 'update', record).length > 0;
}

/** The form that deletes a record, some submitted after the operator has changed what the caller may do. */
export const fillingToDelete: Surface = async (world, caller) => {
  const { draw, t } = world;
  const name = draw.pick(NAMES.filter((each) => each !== 'people'));
  const before = target(world, caller, name);
  const { id } = before;
  if (!before.record || caller.subject === undefined || world.model.refusal(caller, name, 'read')) return;
  const { visitor, page } = await opened(world, caller, `/${name}/${id}?_delete`);
  const opening = `${caller.label} opens /${name}/${id}`;
  const button = /<button class="danger">([^<]*)<\/button>/.exec(page.text)?.[1];
  const isPermitted =
    !world.model.refusal(caller, name, 'delete') &&
    world.model.held(caller, name, 'delete', before.record).length > 0;
  t.equal(button !== undefined, isPermitted, `the form of ${opening}`);
  if (button === undefined) return;
  if (draw.maybe(0.3)) await disturb(world);
  const { model } = world;
  const { record } = target(world, caller, name, id);
  const found = await visitor.submit(t, page, button);
  const failure: Failure | undefined = !record
    ? { status: 412 }
    : model.held(caller, name, 'delete', record).length === 0
      ? { status: 403, code: 'ACCESS_DENIED' }
      : record._version !== before.record._version
        ? { status: 412 }
        : undefined;
  const shown = `${opening} and deletes ${JSON.stringify(record)}`;
  if (!requireOutcome(world, caller, found, failure, `${shown} ${page.text}`)) return;
  await settle(world, model.without(id), shown);
};
