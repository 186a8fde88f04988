import { mayRead } from '../../access/rules.js';
import { schemaRef } from '../../api/schema.js';
import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import { EVENT_VERBS } from '../../events/event.js';
import type { JsonObject } from '../../json.js';
import { DEFAULT_VERSION } from '../../versions/supported.js';
import { COMMON_SCHEMAS } from './common-schemas.js';
import { definitions } from './declared-schemas.js';
import { recordSchemas, writtenRecord } from './record-schemas.js';
import { usedComponents } from './references.js';
import { type DescribedResource, describedResources } from './type-names.js';

/** The description of the service in the document. */
export interface StreamSettings {
  readonly resources: readonly Resource[];
  /** The schemas to which those of collections refer, by file. */
  readonly sharedSchemas: ReadonlyMap<string, object>;
  readonly publicUrl: string | undefined;
  readonly publicPrefix: string;
}

/** The AsyncAPI 3.0 document of the event stream, with a message for each type of event. */
export async function asyncApi(settings: StreamSettings, caller: Principal): Promise<JsonObject> {
  const { publicUrl = 'http://localhost:3000', publicPrefix } = settings;
  const described = describedResources(settings, Object.keys(COMMON_SCHEMAS), caller);
  const resources = described.filter((resource) => mayRead(resource, caller));
  const { host, protocol } = new URL(publicUrl);
  const messages = Object.fromEntries(
    resources.flatMap((resource) =>
      EVENT_VERBS.map((verb) => [`${resource.name}.${verb}`, messageOf(resource, verb)] as const),
    ),
  );
  const names = Object.keys(messages);
  const channel = { $ref: '#/channels/events' };
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Plinth events',
      version: '1.0.0',
      description:
        'Changes of records as Server-Sent Events (HTML, section 9.2). The id of a message is the cursor.',
    },
    servers: { service: { host, protocol: protocol.slice(0, -1), pathname: publicPrefix || '/' } },
    channels: {
      events: {
        address: '/events',
        description:
          '`Accept: text/event-stream`, with `?after=<cursor>`, `?types=<types>`, and for types of one collection `filter[<field>]=<value>` as in lists.',
        messages: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
      },
    },
    operations: {
      receiveEvents: {
        action: 'send',
        channel,
        summary: 'The service sends every change, in order.',
        messages: names.map((name) => ({ $ref: `#/channels/events/messages/${name}` })),
      },
    },
    components: {
      schemas: Object.assign(
        {},
        COMMON_SCHEMAS,
        ...described.flatMap((resource) => [recordSchemas(resource, DEFAULT_VERSION), definitions(resource)]),
      ) as JsonObject,
      messages,
    },
  };
  return usedComponents(document as unknown as JsonObject);
}

function messageOf(resource: DescribedResource, verb: string): JsonObject {
  const type = { const: `${resource.name}.${verb}` };
  const data = verb === 'deleted' ? {} : { data: writtenRecord(resource) };
  return {
    name: `${resource.name}.${verb}`,
    contentType: 'application/cloudevents+json',
    payload: { allOf: [schemaRef('Event'), { type: 'object', properties: { type, ...data } }] },
  };
}
