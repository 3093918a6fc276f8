import { z } from 'zod';
import { baseURL } from './base-url.ts';
import { conditions, observedGeneration } from './conditions.ts';
import { dialectSchema } from './dialect.ts';
import {
  dateTime,
  line,
  mapOf,
  maxModelName,
  modelAlias,
  modelName,
  namespaceName,
  patterned,
  resourceName,
  secretEntryKey,
  setOf,
  text,
  whole,
} from './fields.ts';
import { nativeFormats } from './formats.ts';
import { modelCardSchema, mostTokens } from './model-card.ts';
import { credentialOnce, headersSchema } from './node-headers.ts';
import { objectMetaSchema } from './object-meta.ts';
import { withRules } from './rules.ts';

const priority = () => whole(0, 100);
const weight = () => whole(1, 100);

const modelEntrySchema = z.object({
  name: modelName().meta({ description: "The model's name, as the node calls it." }),
  // No default: absent means the value of sync.newModels at the discovery, which must remain distinguishable from a wish.
  enabled: z
    .boolean()
    .meta({
      description:
        'Whether callers may use the model; absent means what sync.newModels said when the model was discovered (status.models).',
    })
    .optional(),
  aliases: setOf(modelAlias(), 16)
    .meta({
      description:
        'Other names that callers may use; the node is sent `name`. Models that share an alias all serve it, by their priorities and weights.',
    })
    .optional(),
  priority: priority().meta({ description: "The model's own priority, in place of the node's." }).optional(),
  weight: weight().meta({ description: "The model's own weight, in place of the node's." }).optional(),
  dialect: dialectSchema
    .meta({ description: "What this model takes where it differs from the node's dialect." })
    .optional(),
  card: modelCardSchema
    .meta({
      description:
        'What callers and agents should know about the model. It takes precedence over what a sync found.',
    })
    .optional(),
});

const callerNamespacesSchema = withRules(
  z.object({
    from: z.enum(['Same', 'All', 'Names']).default('Same').meta({
      description: "Same: the node's own namespace; All: every namespace; Names: the ones in names, too.",
    }),
    names: setOf(namespaceName(), 256).meta({ description: 'Namespaces, with from: Names only.' }).optional(),
  }),
  [
    {
      cel: "self.from != 'Names' || (has(self.names) && size(self.names) > 0)",
      message: 'must list at least one namespace when from is Names',
      remedy: 'add names, or set from to Same',
      field: 'names',
      holds: (self) => self.from !== 'Names' || (self.names !== undefined && self.names.length > 0),
    },
    {
      cel: "self.from == 'Names' || !has(self.names) || size(self.names) == 0",
      message: 'must be empty unless from is Names',
      remedy: 'set from to Names, or remove names',
      field: 'names',
      holds: (self) => self.from === 'Names' || self.names === undefined || self.names.length === 0,
    },
  ],
);

/** Longest pattern in characters. */
const maxPattern = 256;
const modelPatterns = () => setOf(line(maxPattern), 100);

const modelPatternsSchema = z.object({
  include: modelPatterns()
    .meta({
      description:
        'Names of the models to keep, with `*` for any text and `?` for one character; absent or empty keeps every one.',
    })
    .optional(),
  exclude: modelPatterns()
    .meta({ description: 'Names of the models to leave out, in the same form; it beats include.' })
    .optional(),
});

const syncSchema = z.object({
  intervalSeconds: whole(60, 604_800)
    .default(3_600)
    .meta({ description: 'Time between scheduled syncs, ±10 %.' }),
  newModels: z.enum(['Enabled', 'Disabled']).default('Enabled').meta({
    description:
      'What a newly discovered model starts as. A change leaves models that are known already as they are: switch those by spec.models, or leave them out by sync.models.',
  }),
  discovery: z
    .enum(['Always', 'Never'])
    .default('Always')
    .meta({ description: 'Always: ask the node for its models. Never: use manualModels alone.' }),
  suspend: z.boolean().default(false).meta({
    description:
      'true keeps the discovered models as they are: no sync, whatever asks for one. Health checks and manualModels go on.',
  }),
  models: modelPatternsSchema
    .meta({
      description:
        'Which of the models that the node lists exist here. One that is left out goes at once; manualModels are always kept.',
    })
    .optional(),
});

const healthCheckSchema = z.object({
  mode: z
    .enum(['Models', 'None'])
    .default('Models')
    .meta({ description: 'Models: ask for {baseURL}/models. None: no checks.' }),
  intervalSeconds: whole(10, 3_600).default(60).meta({ description: 'Time between checks.' }),
  timeoutSeconds: whole(1, 60).default(5).meta({ description: 'Longest time that one check may take.' }),
  failureThreshold: whole(1, 10)
    .default(3)
    .meta({ description: 'Checks in a row that must find the node unreachable before it is offline.' }),
});

const timeoutsSchema = z.object({
  connectSeconds: whole(1, 300)
    .default(5)
    .meta({ description: 'Until the connection is established, TLS included.' }),
  firstByteSeconds: whole(1, 3_600)
    .default(120)
    .meta({ description: 'From the end of the request until the answer begins.' }),
  idleSeconds: whole(1, 3_600).default(120).meta({ description: 'Between two pieces of the answer.' }),
  totalSeconds: whole(1, 86_400).default(900).meta({ description: 'For the whole attempt.' }),
});

const concurrencySchema = z.object({
  maxRequests: whole(1, 100_000).meta({
    description:
      'Most requests that a gateway has under way at the node. At this number the node is passed by.',
  }),
  queue: z
    .object({
      maxRequests: whole(0, 10_000)
        .default(0)
        .meta({ description: 'Most requests that may wait for the node in a gateway; 0: none waits.' }),
      timeoutSeconds: whole(1, 600).default(10).meta({
        description:
          'Longest time that a request waits; then the next priority is tried, else callers get 429.',
      }),
    })
    .prefault({})
    .meta({
      description:
        'What waits where all nodes of a priority are full: by priority of keys, in turns among keys.',
    }),
});

const tlsSchema = z.object({
  caBundle: withRules(text(131_072), [
    {
      cel: "self.contains('-----BEGIN CERTIFICATE-----') && self.contains('-----END CERTIFICATE-----')",
      message: 'must hold PEM certificates',
      remedy: 'paste the certificate of the authority, from -----BEGIN CERTIFICATE----- on',
      holds: (self) =>
        self.includes('-----BEGIN CERTIFICATE-----') && self.includes('-----END CERTIFICATE-----'),
    },
  ])
    .meta({ description: 'PEM certificates of the authorities to trust instead of the public ones.' })
    .optional(),
  serverName: patterned(
    253,
    /^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$/,
    'must be a DNS name',
    'write a host name without port or scheme',
  )
    .meta({ description: 'Name that the certificate must carry, if it is not the host of baseURL.' })
    .optional(),
});

/** Longest sealed credential in characters: the longest key, sealed to a handful of recipients, takes a third of it. */
export const maxSealedLength = 32_768;

const upstreamNodeSpecSchema = withRules(
  z.object({
    displayName: line(253)
      .meta({ description: 'Free-form name for people; absent means the name of the resource.' })
      .optional(),
    baseURL: baseURL(),
    apiKeySecretRef: z
      .object({
        name: resourceName().meta({ description: 'The Secret, in the same namespace.' }),
        key: secretEntryKey().default('apiKey').meta({ description: 'The entry of the Secret.' }),
      })
      .meta({
        description: 'Credential from a Secret. At most one of apiKeySecretRef and encryptedAPIKey.',
      })
      .optional(),
    encryptedAPIKey: withRules(text(maxSealedLength), [
      {
        cel: "self.startsWith('-----BEGIN AGE ENCRYPTED FILE-----')",
        message: 'must be armored age text, as model-gateway seal makes it',
        remedy: 'seal the key',
        holds: (self) => self.startsWith('-----BEGIN AGE ENCRYPTED FILE-----'),
      },
    ])
      .meta({
        description:
          "Credential sealed to the gateway's public key (`model-gateway seal`), which can live in Git. At most one of apiKeySecretRef and encryptedAPIKey.",
      })
      .optional(),
    authentication: z.enum(['Bearer', 'XAPIKey', 'APIKey']).default('Bearer').meta({
      description: 'Header that carries the credential: Authorization: Bearer, x-api-key or api-key.',
    }),
    enabled: z
      .boolean()
      .default(true)
      .meta({ description: 'false takes the node out of routing without deleting it.' }),
    priority: priority().default(50).meta({ description: 'Higher is preferred.' }),
    weight: weight().default(50).meta({ description: 'Share of the requests within one priority.' }),
    nativeFormats: setOf(z.enum(nativeFormats), nativeFormats.length)
      .meta({
        description:
          'Formats that the node speaks besides chat-completions. Requests of other formats are converted to chat-completions.',
      })
      .optional(),
    manualModels: setOf(modelName(), 1_000)
      .meta({ description: 'Models that the node has, whether or not it lists them.' })
      .optional(),
    models: mapOf(modelEntrySchema, 'name', 2_000)
      .meta({
        description:
          'Wishes for single models: enabled, aliases, priority, weight, dialect, card. Managers can own separate entries by server-side apply.',
      })
      .optional(),
    // Written out: the API server judges a default by the rules before it fills in the defaults inside it.
    callerNamespaces: callerNamespacesSchema
      .prefault({ from: 'Same' })
      .meta({ description: 'Whose keys may use the node, besides what those keys themselves must allow.' }),
    sync: syncSchema.prefault({}).meta({ description: 'How the model list is kept.' }),
    healthCheck: healthCheckSchema.prefault({}).meta({ description: 'How the node is checked.' }),
    timeouts: timeoutsSchema.prefault({}).meta({ description: 'Longest times of one attempt at the node.' }),
    concurrency: concurrencySchema
      .meta({ description: 'How many requests the node may have at one time, and how many may wait for it.' })
      .optional(),
    headers: headersSchema.optional(),
    tls: tlsSchema
      .meta({ description: 'For private certificate authorities. Verification cannot be switched off.' })
      .optional(),
    dialect: dialectSchema
      .meta({
        description:
          "What the node's chat-completions takes; used only when a request is converted. Absent means the most widely accepted choice, or OpenAI's own for its own hosts and Azure's.",
      })
      .optional(),
  }),
  [
    {
      cel: '!has(self.apiKeySecretRef) || !has(self.encryptedAPIKey)',
      message: 'must not be set together with apiKeySecretRef',
      remedy: 'keep one of the two',
      field: 'encryptedAPIKey',
      holds: (self) => self.apiKeySecretRef === undefined || self.encryptedAPIKey === undefined,
    },
    {
      cel: '!has(self.concurrency) || !has(self.concurrency.queue) || self.concurrency.queue.timeoutSeconds < self.timeouts.totalSeconds',
      message: 'must have a queue.timeoutSeconds below timeouts.totalSeconds',
      remedy:
        'a request must not wait for longer than it may take: lower queue.timeoutSeconds, or raise timeouts.totalSeconds',
      field: 'concurrency',
      holds: ({ concurrency, timeouts }) =>
        concurrency === undefined || concurrency.queue.timeoutSeconds < timeouts.totalSeconds,
    },
    credentialOnce,
  ],
);

const statusModelSchema = z.object({
  name: text(maxModelName, 1).meta({ description: "The model's name, as the node calls it." }),
  enabled: z.boolean().meta({ description: 'Whether callers may use the model.' }),
  startedEnabled: z
    .boolean()
    .meta({
      description:
        'What sync.newModels said when the model was discovered, where that is not what enabled says now.',
    })
    .optional(),
  source: z
    .enum(['Discovered', 'Manual'])
    .meta({ description: 'Whether the node listed the model or the manual list names it.' }),
  contextTokens: whole(1, mostTokens)
    .meta({ description: 'The context window in tokens, if the node tells it in its list.' })
    .optional(),
  outputTokens: whole(1, mostTokens)
    .meta({ description: 'The longest answer in tokens, if the node tells it in its list.' })
    .optional(),
  missedSyncs: whole(0, 100)
    .meta({ description: 'Syncs in a row that did not list the model; at three it is removed.' })
    .optional(),
});

const count = () => whole(0, 1_000_000);

const upstreamNodeStatusSchema = z.object({
  observedGeneration: observedGeneration().optional(),
  phase: z
    .enum(['idle', 'ready', 'error', 'offline'])
    .meta({
      description:
        'idle: not checked yet, or no models; ready: last check good; error: last check failed; offline: unreachable several times in a row.',
    })
    .optional(),
  models: z
    .array(statusModelSchema)
    .max(5_000)
    .meta({ description: 'The models found and set by hand.', 'x-kubernetes-list-type': 'atomic' })
    .optional(),
  modelsTruncated: z
    .boolean()
    .meta({ description: 'Whether models were left out to bound this status.' })
    .optional(),
  modelCount: count().meta({ description: 'Number of models.' }).optional(),
  enabledModelCount: count().meta({ description: 'Number of enabled models.' }).optional(),
  enabledModels: text(32)
    .meta({ description: 'Both numbers, as kubectl prints them: enabled/all.' })
    .optional(),
  lastSyncTime: dateTime()
    .meta({ description: 'When the last sync ended, whether it succeeded or failed.' })
    .optional(),
  lastSuccessfulSyncTime: dateTime().meta({ description: 'When a sync succeeded last.' }).optional(),
  lastSyncError: text(1_024)
    .meta({ description: 'What was wrong; present only after a failed sync.' })
    .optional(),
  lastHealthCheckTime: dateTime()
    .meta({ description: 'When the node was last checked, up to 5 minutes stale while nothing changes.' })
    .optional(),
  apiKeySet: z.boolean().meta({ description: 'Whether a credential resolves.' }).optional(),
  syncedWith: z
    .object({
      baseURL: text(2_048).meta({ description: 'The address that was synced.' }).optional(),
      secretResourceVersion: text(253)
        .meta({ description: 'The version of the credential that was used; no part of the credential.' })
        .optional(),
    })
    .meta({ description: 'What the last sync used, so that a change is recognised after a restart.' })
    .optional(),
  lastHandledSyncRequest: text(1_024)
    .meta({
      description: 'The value of the annotation modelgateway.dev/sync-requested-at that was acted on.',
    })
    .optional(),
  conditions: conditions(
    'Ready: accepted, credentials resolved and not refused, models known. Reachable: the last check. ModelsSynced, CredentialsResolved; Reconciling or Stalled while they are true.',
  ).optional(),
});

export const upstreamNodeSchema = z.object({
  apiVersion: z.literal('modelgateway.dev/v1alpha1'),
  kind: z.literal('UpstreamNode'),
  metadata: objectMetaSchema,
  spec: upstreamNodeSpecSchema,
  status: upstreamNodeStatusSchema.optional(),
});

/** A connection to a server of models: what is wanted of it and what was found. Defaults are filled in. */
export type UpstreamNode = z.output<typeof upstreamNodeSchema>;
export type UpstreamNodeSpec = UpstreamNode['spec'];
export type UpstreamNodeStatus = NonNullable<UpstreamNode['status']>;
export type StatusModel = z.output<typeof statusModelSchema>;
