import { html, useEffect, useMemo, useRef, useState, type View } from './htm-preact.js';
import type { InputNames } from './labelled.ts';

type Input = { currentTarget: HTMLInputElement };

/** The most suggestions in the list. The number of the others is shown; they are found by typing more. */
const mostShown = 50;

/**
 * A text input with suggestions, for mouse and keyboard: the combobox with a list box of the WAI-ARIA authoring practices.
 * Any other text is accepted too. Suggestions that start with the typed text are first. A `datalist` cannot do that: its
 * order, its number of entries and its look in tests are the browser's.
 */
export function CompletingInput(props: {
  /** Unique on the page. */
  readonly id: string;
  readonly names: InputNames;
  readonly value: string;
  readonly choices: readonly string[];
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly onInput: (text: string) => void;
  readonly onPick: (choice: string) => void;
  /** What Enter does if no choice is marked; by default it submits the form. */
  readonly onEnter?: () => void;
  readonly onPaste?: (event: ClipboardEvent) => void;
}): View {
  const { id, names, value, choices, onInput, onPick, onEnter, onPaste } = props;
  const [open, setOpen] = useState(false);
  const [marked, setMarked] = useState(-1);
  const list = useRef<HTMLElement | null>(null);
  const searched = useMemo(() => choices.map((choice) => [choice, choice.toLowerCase()] as const), [choices]);
  const text = value.trim().toLowerCase();
  const found = useMemo(() => (open ? matching(searched, text) : []), [searched, text, open]);
  const shown = found.slice(0, mostShown);
  // If the typed text is the only suggestion, the list would only hide what is below it.
  const shows = open && shown.length > 0 && !(found.length === 1 && found[0] === value);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
    return undefined;
  }, [marked]);

  const show = (now: boolean, mark = -1): void => {
    setOpen(now);
    setMarked(mark);
  };
  const pick = (choice: string): void => {
    show(false);
    onPick(choice);
  };
  const press = (event: KeyboardEvent): void => {
    const choice = shows ? shown[marked] : undefined;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      if (!shows) show(true, step === 1 ? 0 : -1);
      else
        setMarked(
          marked === -1 && step === -1 ? shown.length - 1 : (marked + step + shown.length) % shown.length,
        );
    } else if (event.key === 'Enter' && choice !== undefined) pick(choice);
    else if (event.key === 'Enter' && text !== '' && onEnter !== undefined) {
      show(false);
      onEnter();
    } else if (event.key === 'Escape' && shows) show(false);
    else return;
    event.preventDefault();
  };

  const more = found.length - shown.length;
  const told = `${found.length === 1 ? '1 suggestion' : `${found.length} suggestions`}`;
  return html`<span class="completing">
    <input
      ...${names}
      type="text"
      role="combobox"
      autocomplete="off"
      spellcheck=${false}
      aria-autocomplete="list"
      aria-expanded=${shows ? 'true' : 'false'}
      aria-controls=${`${id}-choices`}
      aria-activedescendant=${shows && marked >= 0 ? `${id}-choice-${marked}` : undefined}
      value=${value}
      placeholder=${props.placeholder}
      required=${props.required}
      disabled=${props.disabled}
      onInput=${(event: Input) => {
        show(true);
        onInput(event.currentTarget.value);
      }}
      onPaste=${onPaste}
      onKeyDown=${press}
      onClick=${() => show(true)}
      onBlur=${() => show(false)}
    />
    <span class="unseen" role="status">${shows && told}</span>
    <span class="choices" hidden=${!shows}>
      <span id=${`${id}-choices`} role="listbox" aria-label="Suggestions" ref=${list}>
        ${shown.map(
          (choice, index) => html`<span
            key=${choice}
            id=${`${id}-choice-${index}`}
            role="option"
            aria-selected=${index === marked ? 'true' : 'false'}
            onMouseDown=${(event: Event) => event.preventDefault()}
            onClick=${(event: Event) => {
              event.preventDefault();
              pick(choice);
            }}
          >${choice}</span>`,
        )}
      </span>
      ${more > 0 && html`<small aria-hidden="true">and ${more} more: type on</small>`}
    </span>
  </span>`;
}

/** The choices that contain the text: first those that start with it, then those with a word that does, then the others. */
function matching(choices: readonly (readonly [choice: string, lower: string])[], text: string): string[] {
  const [starts, parts, others]: [string[], string[], string[]] = [[], [], []];
  for (const [choice, lower] of choices) {
    const at = lower.indexOf(text);
    if (at === 0) starts.push(choice);
    else if (at > 0) (/[\w]/.test(lower.charAt(at - 1)) ? others : parts).push(choice);
  }
  return [...starts, ...parts, ...others];
}
