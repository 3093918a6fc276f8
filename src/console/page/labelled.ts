import { type Child, html, type View } from './htm-preact.js';

/** The attributes that connect an input with its label, hint and error, for screen readers. */
export interface InputNames {
  readonly 'aria-labelledby': string;
  readonly 'aria-describedby': string;
  readonly 'aria-invalid': 'true' | undefined;
}

/**
 * An input with its label, hint and error. Hint and error are descriptions, not part of the name: a screen reader would
 * otherwise read them out each time.
 */
export function labelled(
  field: {
    /** Unique on the page, such as `spec.priority`. */
    readonly id: string;
    readonly label: string;
    readonly hint?: Child;
    readonly wrong?: string | undefined;
    readonly required?: boolean;
    /** The input stands before its label, on one line. */
    readonly inline?: boolean;
  },
  input: (names: InputNames) => View,
): View {
  const { id, label, hint, wrong, required = false, inline = false } = field;
  const made = input({
    'aria-labelledby': `${id}-label`,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': wrong === undefined ? undefined : 'true',
  });
  return html`<label class=${inline ? 'inline' : ''}>
    ${inline && made}
    <span id=${`${id}-label`} title=${id.startsWith('spec.') ? id : undefined}>${label}</span>
    ${required && html`<span class="required" aria-hidden="true">*</span>`}
    ${!inline && made}
    <small id=${`${id}-hint`}>${wrong !== undefined && html`<span class="wrong" role="alert">${wrong}</span>`} ${hint}</small>
  </label>`;
}
