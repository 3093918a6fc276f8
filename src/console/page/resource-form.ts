import type { Problems } from './field.ts';
import { type Child, html, useEffect, useRef, useState, type View } from './htm-preact.js';
import { Refusal } from './server.ts';
import { problemsIn } from './spec-fields.ts';

/**
 * The frame of every form that saves a resource. Enter or the button saves, and "Show YAML" shows the change first. The
 * server's errors are shown beside their fields, the first of which gets the focus, or above the buttons if they name no
 * field of this form.
 */
export function ResourceForm(props: {
  /** What the button says: `Add`, `Save`. */
  readonly submit: string;
  /** Why nothing may be changed; undefined when it may. */
  readonly denied: string | undefined;
  readonly fields: (problems: Problems) => View;
  /** Shown above the buttons. */
  readonly notice?: Child;
  /** Throws if it fails. */
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
  // Not disabled while it is busy: a disabled control loses the focus, and with it the place of a keyboard user.
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

/** The error above the buttons: without what is shown beside the fields of the page. */
function saidOf(error: unknown): string {
  const causes = error instanceof Refusal ? error.causes : [];
  const isSeen = causes.every(({ field }) => document.getElementById(`${field}-hint`) !== null);
  if (causes.length > 0 && isSeen) return 'Nothing is stored yet: fix what is marked above.';
  return error instanceof Error ? error.message : String(error);
}
