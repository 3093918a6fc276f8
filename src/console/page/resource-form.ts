import type { Problems } from './field.ts';
import { type Child, html, useEffect, useRef, useState, type View } from './htm-preact.js';
import { Refusal } from './server.ts';
import { problemsIn } from './spec-fields.ts';

/**
 * The frame of every form that saves a resource: Enter or the button saves, "Show YAML" shows it before, and what the
 * server refuses is said beside the fields that it names, the first of which gets the focus; above the buttons where it
 * names none that is here.
 */
export function ResourceForm(props: {
  /** What the button says: `Add`, `Save`. */
  readonly submit: string;
  /** Why nothing may be changed; undefined when it may. */
  readonly denied: string | undefined;
  readonly fields: (problems: Problems) => View;
  /** Stands above the buttons. */
  readonly notice?: Child;
  /** Throws what went wrong. */
  readonly save: (showYaml: boolean) => Promise<void>;
}): View {
  const { submit, denied, fields, notice, save } = props;
  const [problems, setProblems] = useState<Problems>(new Map());
  const [failure, setFailure] = useState<string | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement | null>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    return undefined;
  }, [problems]);
  const act = async (showYaml: boolean): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblems(new Map());
    setFailure(undefined);
    try {
      await save(showYaml);
    } catch (error) {
      setProblems(problemsIn(error));
      setFailure(saidOf(error));
    }
    setBusy(false);
  };
  // Not while it is busy: a control that is disabled loses the focus, and whoever works by keyboard begins anew.
  const disabled = denied !== undefined;
  return html`<form
    noValidate
    ref=${form}
    onSubmit=${(event: Event) => {
      event.preventDefault();
      void act(false);
    }}
  >
    ${denied && html`<p class="problem" role="note">${denied}</p>`}
    ${fields(problems)}
    ${notice}
    ${failure !== undefined && html`<p class="problem" role="alert">${failure}</p>`}
    <div class="actions">
      <button type="submit" disabled=${disabled} aria-busy=${busy ? 'true' : undefined}>${submit}</button>
      <button type="button" class="secondary" disabled=${disabled} onClick=${() => void act(true)}>Show YAML</button>
    </div>
  </form>`;
}

/** What the buttons say of a failure: not again what stands beside fields that are on the page. */
function saidOf(error: unknown): string {
  const causes = error instanceof Refusal ? error.causes : [];
  const isSeen = causes.every(({ field }) => document.getElementById(`${field}-hint`) !== null);
  if (causes.length > 0 && isSeen) return 'Nothing is stored yet: mend what is marked above.';
  return error instanceof Error ? error.message : String(error);
}
