import { schemaRef } from '../../api/schema.js';
import type { JsonObject } from '../../json.js';
import { schemaNames } from './record-schemas.js';
import type { DescribedResource } from './type-names.js';

const VERBS = { created: 'was created', updated: 'was changed', deleted: 'was deleted' } as const;

/** The requests that the service sends to the targets of webhooks, one for each type of event. They have whole records. */
export function eventWebhooks(resources: readonly DescribedResource[]): JsonObject {
  const types = resources.flatMap((resource) =>
    Object.entries(VERBS).map(
      ([verb, text]) => [`${resource.name}.${verb}`, webhookOf(resource, verb, text)] as const,
    ),
  );
  return types.length === 0 ? {} : { webhooks: Object.fromEntries(types) };
}

function webhookOf(resource: DescribedResource, verb: string, text: string): JsonObject {
  const { record } = schemaNames(resource);
  const data = verb === 'deleted' ? {} : { properties: { data: schemaRef(record) } };
  return {
    post: {
      operationId: `on${record}${verb[0]!.toUpperCase()}${verb.slice(1)}`,
      summary: `A record of ${resource.name} ${text}.`,
      tags: [resource.name],
      parameters: ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => ({
        name,
        in: 'header',
        required: true,
        schema: { type: 'string' },
      })),
      requestBody: {
        required: true,
        content: {
          'application/cloudevents+json': {
            schema: { allOf: [schemaRef('Event'), { type: 'object', ...data }] },
          },
        },
      },
      responses: {
        '2XX': { description: 'The target has received the event.' },
        '4XX': { description: 'The service attempts the delivery again later.' },
      },
      security: [],
    },
  };
}
