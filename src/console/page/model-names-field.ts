import { CompletingInput } from './completing-input.ts';
import { type FieldProps, inputOf, namesIn } from './field.ts';
import { html, useMemo, useRef, useState, type View } from './htm-preact.js';
import type { InputNames } from './labelled.ts';
import { useModelNames } from './model-names.ts';

/**
 * Names of models, each with a button that removes it, and an input that suggests the next one. Unknown names are accepted,
 * because a model may be added later; several at once are separated by commas or lines. Text that is still in the input
 * counts too, because a person who presses Save means it.
 */
export function ModelNamesField(props: FieldProps): View {
  const { path, value, disabled, onChange } = props;
  const given = (Array.isArray(value) ? value : []).map(String);
  const [kept, setKept] = useState<readonly string[]>(given);
  const [text, setText] = useState('');
  const root = useRef<HTMLElement | null>(null);
  const known = useModelNames();
  const isOurs = both(kept, text).join('\n') === given.join('\n');
  const [taken, typed] = isOurs ? [kept, text] : [given, ''];
  const choices = useMemo(() => known.filter((name) => !taken.includes(name)), [known, taken.join('\n')]);

  const set = (names: readonly string[], rest: string): void => {
    setKept(names);
    setText(rest);
    onChange(both(names, rest));
  };
  const take = (more: string): void => set(both(taken, more), '');
  const paste = (event: ClipboardEvent): void => {
    const pasted = event.clipboardData?.getData('text') ?? '';
    // An input of one line would join the lines.
    if (!pasted.includes('\n')) return;
    event.preventDefault();
    take(`${typed}${pasted}`);
  };
  const remove = (name: string): void => {
    set(
      taken.filter((other) => other !== name),
      typed,
    );
    root.current?.querySelector('input')?.focus();
  };
  const newest = useRef(remove);
  newest.current = remove;
  // Rendered only when it changes: a key may have a thousand names, and each typed letter renders the form.
  const list = useMemo(() => {
    const served = new Set(known);
    return html`<ul class="chosen" aria-label="Models of this key">
      ${taken.map(
        (name) => html`<li key=${name}>
          <code>${name}</code>
          ${known.length > 0 && !served.has(name) && html`<small class="muted">no node has it</small>`}
          <button type="button" class="outline small" aria-label=${`Remove ${name}`} title="Remove" disabled=${disabled} onClick=${() => newest.current(name)}>×</button>
        </li>`,
      )}
    </ul>`;
  }, [taken.join('\n'), known, disabled]);

  return html`<div class="model-names" ref=${root}>
    ${inputOf(
      props,
      (names: InputNames) => html`<${CompletingInput}
        id=${path}
        names=${names}
        value=${typed}
        choices=${choices}
        disabled=${disabled}
        placeholder=${taken.length === 0 ? 'All models; name some to allow no others' : 'Another one'}
        onInput=${(now: string) => {
          const end = now.lastIndexOf(',') + 1;
          set(both(taken, now.slice(0, end)), now.slice(end).trimStart());
        }}
        onPick=${(name: string) => set(both(taken, name), '')}
        onEnter=${() => take(typed)}
        onPaste=${paste}
      />`,
    )}
    ${taken.length > 0 && list}
  </div>`;
}

/** The names, and those in the text, each once. */
function both(names: readonly string[], text: string): readonly string[] {
  return [...new Set([...names, ...namesIn(text)])];
}
