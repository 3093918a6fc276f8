import { type Inspection, inspect } from './inspect.ts';
import { type FormOptions, inspectForm } from './inspect-form.ts';

/** How a body is inspected. */
export interface InspectOptions {
  /** Whether the key has an allowlist. */
  readonly restricted: boolean;
  /** Deepest nesting of JSON. */
  readonly maxDepth: number;
  /** Set if the body is multipart. */
  readonly form: FormOptions | undefined;
}

/** Reads the model of a JSON or multipart body. Throws GatewayError. */
export function inspectBody(body: Buffer, options: InspectOptions): Inspection {
  const { form, restricted } = options;
  return form === undefined ? inspect(body, options) : inspectForm(body, form, restricted);
}
