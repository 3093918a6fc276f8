import { z } from 'zod';
import { dateTime, text, whole } from './fields.ts';
import { objectMetaSchema } from './object-meta.ts';

/** Most namespaces, and most circuits, that a report holds. */
export const mostReported = { namespaces: 1_000, circuits: 100 } as const;

/** What a gateway does: it reads its first lists, serves, finishes requests before it ends, or has ended. */
const gatewayStates = ['Starting', 'Serving', 'Draining', 'Stopped'] as const;

const version = (kind: string) =>
  text(64)
    .meta({
      description: `resourceVersion up to which requests see the ${kind} of this namespace; absent while nothing was read.`,
    })
    .optional();

const appliedSchema = z.object({
  namespace: text(63, 1).meta({ description: 'A namespace that the gateway serves; "*" for all of them.' }),
  upstreamNodes: version('UpstreamNodes'),
  apiKeys: version('APIKeys'),
  masterKeys: version('MasterKeys'),
});

const circuitSchema = z.object({
  node: text(320, 1).meta({ description: 'namespace/name of the UpstreamNode.' }),
  model: text(512).meta({ description: 'Absent for the circuit of the whole node.' }).optional(),
  state: z.enum(['Open', 'HalfOpen']).meta({ description: 'HalfOpen lets one request through.' }),
});

export const gatewayReportSchema = z.object({
  apiVersion: z.literal('modelgateway.dev/v1alpha1'),
  kind: z.literal('GatewayReport'),
  metadata: objectMetaSchema,
  spec: z.object({
    state: z.enum(gatewayStates).meta({
      description: 'Starting until the first lists are complete; Stopped accepts no request any more.',
    }),
    version: text(128).meta({ description: 'Version of the gateway.' }),
    instance: text(64, 1).meta({ description: 'The process: another one for each start.' }),
    podUID: text(253)
      .meta({ description: 'The pod that it runs in; absent if it does not know.' })
      .optional(),
    startedTime: dateTime().meta({ description: 'When the process started.' }),
    heartbeatTime: dateTime().meta({
      description: 'When this report was written, by the clock of the gateway: at least every 10 seconds.',
    }),
    requestsInFlight: whole(0, 2_147_483_647).meta({ description: 'Requests that are being answered.' }),
    openCircuits: whole(0, 2_147_483_647).meta({ description: 'Circuits that are open or half-open.' }),
    circuits: z
      .array(circuitSchema)
      .max(mostReported.circuits)
      .meta({ description: 'The first 100 of these circuits.', 'x-kubernetes-list-type': 'atomic' })
      .optional(),
    applied: z.array(appliedSchema).max(mostReported.namespaces).meta({
      description:
        'What requests see of each namespace. A namespace that is not listed is not served, unless appliedTruncated.',
      'x-kubernetes-list-type': 'atomic',
    }),
    appliedTruncated: z
      .boolean()
      .meta({ description: 'The gateway serves more than 1,000 namespaces; the others are not listed.' })
      .optional(),
  }),
});

/** What one gateway says of itself. Written by that gateway alone. */
export type GatewayReport = z.output<typeof gatewayReportSchema>;

/** The entry of `spec.applied` for one namespace, or for all. */
export type AppliedEntry = z.output<typeof appliedSchema>;
