import type { Attributes } from '@opentelemetry/api';
import type { Sample } from '../collected-metric.ts';
import { operationOf } from '../operations.ts';

/** Metrics that OpenTelemetry's conventions for generative AI have a name for; all others keep their own. */
const genAi: Readonly<Record<string, { readonly name: string; readonly unit: string }>> = {
  modelgateway_request_duration_seconds: { name: 'gen_ai.server.request.duration', unit: 's' },
  modelgateway_time_to_first_content_seconds: { name: 'gen_ai.server.time_to_first_token', unit: 's' },
  modelgateway_stream_gap_seconds: { name: 'gen_ai.client.operation.time_per_output_chunk', unit: 's' },
  modelgateway_request_tokens: { name: 'gen_ai.client.token.usage', unit: '{token}' },
  modelgateway_node_request_duration_seconds: { name: 'gen_ai.client.operation.duration', unit: 's' },
};

/** The conventions' names for the labels of our own metrics. */
const attributeNames: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    route: 'http.route',
    model: 'gen_ai.request.model',
    node: 'modelgateway.node',
    code: 'http.response.status_code',
    error: 'error.type',
  }),
);

/** Under which name and with which unit (UCUM) a metric is exported. */
export function conventionOf(name: string): { readonly name: string; readonly unit: string } {
  if (Object.hasOwn(genAi, name)) return genAi[name] ?? { name, unit: '' };
  if (name.includes('_seconds')) return { name, unit: 's' };
  return { name, unit: name.includes('_bytes') ? 'By' : '' };
}

/** The attributes of a sample; undefined if the metric is one of generative AI and the sample's route calls no model. */
export function attributesOf(metric: string, labels: Sample['labels']): Attributes | undefined {
  if (!metric.startsWith('modelgateway_')) return { ...labels };
  const attributes: Attributes = {};
  for (const [label, value] of Object.entries(labels)) {
    const name = attributeNames.get(label) ?? label;
    attributes[name] = label === 'code' ? Number(value) : value;
  }
  if (!Object.hasOwn(genAi, metric)) return attributes;
  const { route, type } = labels;
  const operation = route === undefined ? 'chat' : operationOf(String(route));
  if (operation === undefined) return undefined;
  if (type !== undefined) {
    delete attributes['type'];
    attributes['gen_ai.token.type'] = type;
  }
  return { ...attributes, 'gen_ai.operation.name': operation, 'gen_ai.provider.name': 'model_gateway' };
}
