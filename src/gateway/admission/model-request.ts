import type { CallerFormat } from '../../routing/caller-format.ts';
import type { KeyEntry } from '../../store/store.ts';
import type { Conversion } from '../conversion/conversion.ts';
import type { RequestBody } from './body.ts';
import type { BufferShare } from './buffer-budget.ts';
import type { Inspection } from './inspect.ts';

/** A request that was read and checked. */
export interface ModelRequest {
  readonly format: CallerFormat;
  readonly key: KeyEntry;
  /** What the key may hold in memory. */
  readonly share: BufferShare;
  readonly inspection: Inspection;
  /** For the node, flat. */
  readonly headers: readonly string[];
  /** For the node, as it is among `headers`. */
  readonly idempotencyKey: string | undefined;
  readonly body: RequestBody;
  /** Made when the first node is met that does not speak the caller's format. */
  conversion: Conversion | undefined;
}
