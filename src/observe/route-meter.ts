import { Distribution } from './distribution.ts';

/** Upper bounds in seconds. */
const durationBounds = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
const firstContentBounds = [0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120];
const gapBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60];
/** The bounds that OpenTelemetry's conventions advise, up to a context of a million tokens. */
const tokenBounds = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

/** The formats that callers may speak, by route. */
const formats: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    '/v1/chat/completions': 'chat',
    '/v1/completions': 'completions',
    '/v1/embeddings': 'embeddings',
    '/v1/responses': 'responses',
    '/v1/messages': 'messages',
    '/v1/messages/count_tokens': 'count_tokens',
    '/v1/rerank': 'rerank',
    '/v1/moderations': 'moderations',
    '/v1/images/generations': 'images/generations',
    '/v1/images/edits': 'images/edits',
    '/v1/audio/speech': 'audio/speech',
    '/v1/audio/transcriptions': 'audio/transcriptions',
    '/v1/audio/translations': 'audio/translations',
  }),
);

/** All measurements of one route. The objects live as long as the process, so a request looks them up once. Times in seconds. */
export interface RouteMeter {
  readonly route: string;
  /** `none` if the route calls no model. */
  readonly format: string;
  readonly durations: Distribution;
  readonly firstContents: Distribution;
  readonly gaps: Distribution;
  readonly inputTokens: Distribution;
  readonly outputTokens: Distribution;
  attempts: number;
  bytesIn: number;
  bytesOut: number;
  cancelled: number;
  openStreams: number;
}

export function createRouteMeter(route: string): RouteMeter {
  return {
    route,
    format: formats.get(route) ?? 'none',
    durations: new Distribution(durationBounds),
    firstContents: new Distribution(firstContentBounds),
    gaps: new Distribution(gapBounds),
    inputTokens: new Distribution(tokenBounds),
    outputTokens: new Distribution(tokenBounds),
    attempts: 0,
    bytesIn: 0,
    bytesOut: 0,
    cancelled: 0,
    openStreams: 0,
  };
}
