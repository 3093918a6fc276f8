import type { RunDetails } from 'fast-check';

export interface FuzzOptions {
  readonly runs: number;
  readonly seed: number;
  readonly slowness: {
    /** Blocks of six windows in which the honest caller is listened to. */
    readonly blocks: number;
    readonly windowMs: number;
    /** How many times slower it may be beside malformed requests. */
    readonly most: number;
  };
  /** Callers that send half a request and wait until the gateway gives them up, half a minute. */
  readonly patient: number;
  /** After this no more cases are tried. */
  readonly limitMs: number;
  /** Told how far it has come. */
  readonly tell: (line: string) => void;
}

/** Something that must not be. */
export interface Finding {
  readonly target: string;
  /** The smallest case that was found, to be pasted into a test. */
  readonly case: string;
  readonly reason: string;
}

/** What came of one target. */
export interface FuzzReport {
  readonly target: string;
  readonly runs: number;
  readonly findings: readonly Finding[];
  readonly figures: Readonly<Record<string, unknown>>;
}

/** The finding of a property that failed, with what repeats it. */
export function failuresOf<Ts>(target: string, details: RunDetails<Ts>): Finding[] {
  if (!details.failed || details.counterexample === null) return [];
  const { errorInstance, seed, counterexamplePath } = details;
  const reason =
    errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance);
  return [
    {
      target,
      case: printable(details.counterexample),
      reason: `seed ${seed}, path ${counterexamplePath}: ${reason.slice(0, 1500)}`,
    },
  ];
}

function printable(value: unknown): string {
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    const { type, data } = (inner ?? {}) as { type?: unknown; data?: unknown };
    return type === 'Buffer' ? Buffer.from(data as number[]).toString('latin1') : inner;
  });
  return text.length > 4000 ? `${text.slice(0, 4000)}…` : text;
}
