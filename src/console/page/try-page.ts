import type { Place } from '../shapes.ts';
import { CompletingInput } from './completing-input.ts';
import { html, useRef, useState, type View } from './htm-preact.js';
import { labelled } from './labelled.ts';
import { useModelNames } from './model-names.ts';
import { failed } from './notices.ts';
import { pastedKey, pasteKey } from './pasted-key.ts';
import { setQuery, useAddress } from './router.ts';
import { createEventReader, type TryFormatName, type Turn, tryFormats } from './try-formats.ts';

type Input = { currentTarget: HTMLInputElement };

const setModel = (model: string): void => setQuery('model', model);

/** Longest raw answer that is kept to show, in characters. */
const mostRaw = 200_000;

interface Facts {
  readonly status: number;
  readonly servedBy: string;
  readonly attempts: string;
  readonly conversion: string;
  readonly dropped: string;
  readonly firstMs: number | undefined;
  readonly totalMs: number | undefined;
}

/** Chats with a model through the gateway, as a caller does, and shows what the gateway made of it. */
export function TryPage({ place }: { place: Place }): View {
  const { query } = useAddress();
  const [key, setKey] = useState(pastedKey());
  const models = useModelNames();
  const [format, setFormat] = useState<TryFormatName>('chat');
  const [stream, setStream] = useState(true);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [typed, setTyped] = useState('');
  const [raw, setRaw] = useState({ request: '', answer: '' });
  const [facts, setFacts] = useState<Facts | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const model = query.get('model') ?? '';
  const send = async (): Promise<void> => {
    const asked: Turn[] = [...turns, { role: 'user', text: typed }];
    const { path, body } = tryFormats[format];
    const request = body(model, asked, stream);
    const abort = new AbortController();
    running.current = abort;
    setTyped('');
    setBusy(true);
    setTurns(asked);
    setFacts(undefined);
    setRaw({ request: `POST /v1/${path}\n\n${JSON.stringify(request, undefined, 2)}`, answer: '' });
    let said = '';
    try {
      await converse({ path, key, body: request, format, signal: abort.signal }, (state) => {
        said = state.text;
        setTurns([...asked, { role: 'assistant', text: said }]);
        setFacts(state.facts);
        setRaw((now) => ({ ...now, answer: state.raw }));
      });
    } catch (error) {
      if (!abort.signal.aborted) failed(error);
    }
    if (said === '') setTurns(asked);
    setBusy(false);
  };

  return html`<section>
    <h1>Try it</h1>
    ${place.tryIt && html`<p class="problem" role="note">${place.tryIt}</p>`}
    <div class="try">
      <form
        class="try-settings"
        onSubmit=${(event: Event) => {
          event.preventDefault();
          if (!busy && typed.trim() !== '') void send();
        }}
      >
        ${labelled(
          {
            id: 'try-key',
            label: 'API key',
            hint: html`Kept in this page's memory alone. <a href="/keys/new">Create one</a>`,
          },
          (
            names,
          ) => html`<input ...${names} type="password" autocomplete="off" required value=${key} placeholder="mgk_…"
            onInput=${(event: Input) => {
              pasteKey(event.currentTarget.value);
              setKey(event.currentTarget.value);
            }} />`,
        )}
        ${labelled(
          { id: 'try-model', label: 'Model' },
          (
            names,
          ) => html`<${CompletingInput} id="try-model" names=${names} value=${model} choices=${models} required
            onInput=${setModel} onPick=${setModel} />`,
        )}
        <label><span>Format</span>
          <select onChange=${(event: { currentTarget: HTMLSelectElement }) => setFormat(event.currentTarget.value as TryFormatName)}>
            ${Object.entries(tryFormats).map(([name, { label }]) => html`<option value=${name} selected=${name === format}>${label}</option>`)}
          </select>
        </label>
        <label class="inline"><input type="checkbox" role="switch" checked=${stream} onChange=${(event: Input) => setStream(event.currentTarget.checked)} /><span>Stream</span></label>
        <label><span>Message</span>
          <textarea rows="4" required value=${typed} onInput=${(event: { currentTarget: HTMLTextAreaElement }) => setTyped(event.currentTarget.value)}
            onKeyDown=${(event: KeyboardEvent) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
                (event.currentTarget as HTMLElement).closest('form')?.requestSubmit();
            }}></textarea>
        </label>
        <div class="actions">
          <button type="submit" disabled=${place.tryIt !== undefined} aria-busy=${busy ? 'true' : undefined}>Send</button>
          ${busy && html`<button type="button" class="secondary" onClick=${() => running.current?.abort()}>Stop</button>`}
          <button type="button" class="outline" disabled=${busy || turns.length === 0} onClick=${() => setTurns([])}>Start over</button>
        </div>
      </form>
      <div class="try-answer">
        <div class="turns" aria-live="polite" aria-label="Conversation">
          ${turns.map(({ role, text }) => html`<div class=${`turn ${role}`}><strong>${role === 'user' ? 'You' : 'Answer'}</strong><p>${text}</p></div>`)}
          ${turns.length === 0 && html`<p class="muted">The answer comes here, with the node that served it, how long it took, and what a conversion could not carry.</p>`}
        </div>
        ${facts && html`<${FactList} facts=${facts} />`}
        ${
          raw.request !== '' &&
          html`<details><summary>Raw request</summary><pre tabindex="0" aria-label="Raw request">${raw.request}</pre></details>
            <details><summary>Raw answer</summary><pre tabindex="0" aria-label="Raw answer">${raw.answer}</pre></details>`
        }
      </div>
    </div>
  </section>`;
}

function FactList({ facts }: { facts: Facts }): View {
  const shown: readonly (readonly [string, string])[] = [
    ['Status', String(facts.status)],
    ['Served by', facts.servedBy || 'not said'],
    ['Attempts', facts.attempts || 'not said'],
    ['Conversion', facts.conversion || 'none'],
    ['Dropped', facts.dropped || 'nothing'],
    ['First content', facts.firstMs === undefined ? '…' : `${Math.round(facts.firstMs)} ms`],
    ['Total', facts.totalMs === undefined ? '…' : `${Math.round(facts.totalMs)} ms`],
  ];
  return html`<dl class="facts">${shown.map(([term, value]) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Sends one request and tells how it goes on, until its end. Throws when the gateway could not be asked. */
async function converse(
  request: { path: string; key: string; body: unknown; format: TryFormatName; signal: AbortSignal },
  tell: (state: { text: string; raw: string; facts: Facts }) => void,
): Promise<void> {
  const { path, key, body, format, signal } = request;
  const { textOf } = tryFormats[format];
  const started = performance.now();
  const answer = await fetch('/api/try', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path, key, body }),
    signal,
  });
  const header = (name: string): string => answer.headers.get(name) ?? '';
  const streamed = header('x-answer-type').includes('event-stream');
  const facts = {
    status: answer.status,
    servedBy: header('x-model-gateway-node'),
    attempts: header('x-model-gateway-attempts'),
    conversion: header('x-model-gateway-conversion'),
    dropped: header('x-model-gateway-dropped'),
  };
  const read = createEventReader();
  let [text, raw, firstMs] = ['', '', undefined as number | undefined];
  const decoder = new TextDecoder();
  const reader = answer.body?.getReader();
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true };
    if (done) break;
    const piece = decoder.decode(value, { stream: true });
    if (raw.length < mostRaw) raw += piece;
    for (const data of streamed ? read(piece) : []) text += textOf(parsed(data));
    if (text !== '') firstMs ??= performance.now() - started;
    tell({ text, raw, facts: { ...facts, firstMs, totalMs: undefined } });
  }
  const totalMs = performance.now() - started;
  if (!streamed) text = textOf(parsed(raw));
  const refused = answer.status >= 400 ? errorText(raw) : '';
  tell({
    text: refused || text,
    raw,
    facts: { ...facts, firstMs: firstMs ?? (text === '' ? undefined : totalMs), totalMs },
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function errorText(raw: string): string {
  const said = parsed(raw) as { error?: { message?: unknown } } | undefined;
  const message = said?.error?.message;
  return typeof message === 'string' ? message : raw;
}
