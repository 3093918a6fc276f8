import type { Place } from '../shapes.ts';
import { CompletingInput } from './completing-input.ts';
import { converse, type Facts } from './converse.ts';
import { html, useRef, useState, type View } from './htm-preact.js';
import { labelled } from './labelled.ts';
import { useModelNames } from './model-names.ts';
import { pastedKey, pasteKey } from './pasted-key.ts';
import { setQuery, useAddress } from './router.ts';
import { type TryFormatName, type Turn, tryFormats } from './try-formats.ts';

type Input = { currentTarget: HTMLInputElement };

const setModel = (model: string): void => setQuery('model', model);

/** One question, and its answer or failure. */
interface Exchange {
  readonly question: string;
  readonly answer: string;
  /** Why there is no complete answer. */
  readonly failure: string | undefined;
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
}

/** The conversation that is sent to the model: without failures, and without the questions before them. */
function turnsOf(exchanges: readonly Exchange[]): Turn[] {
  return exchanges.flatMap(({ question, answer, failure }): Turn[] =>
    failure !== undefined || answer === ''
      ? []
      : [
          { role: 'user', text: question },
          { role: 'assistant', text: answer },
        ],
  );
}

/** Chats with a model through the gateway, as a caller does, and shows how the gateway handled it. */
export function TryPage({ place }: { place: Place }): View {
  const { query } = useAddress();
  const [key, setKey] = useState(pastedKey());
  const models = useModelNames();
  const [format, setFormat] = useState<TryFormatName>('chat');
  const [stream, setStream] = useState(true);
  const [exchanges, setExchanges] = useState<readonly Exchange[]>([]);
  const [typed, setTyped] = useState('');
  const [raw, setRaw] = useState({ request: '', answer: '' });
  const [facts, setFacts] = useState<Facts | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const model = query.get('model') ?? '';
  const send = async (): Promise<void> => {
    const { path, body } = tryFormats[format];
    const request = body(model, [...turnsOf(exchanges), { role: 'user', text: typed }], stream);
    const abort = new AbortController();
    running.current = abort;
    let last: Exchange = { question: typed, answer: '', failure: undefined, status: undefined };
    const show = (now: Partial<Exchange>): void => {
      last = { ...last, ...now };
      setExchanges([...exchanges, last]);
    };
    setTyped('');
    setBusy(true);
    show({});
    setFacts(undefined);
    setRaw({ request: `POST /v1/${path}\n\n${JSON.stringify(request, undefined, 2)}`, answer: '' });
    try {
      await converse({ path, key, body: request, format, signal: abort.signal }, (progress) => {
        show({ answer: progress.text, failure: progress.failure, status: progress.facts.status });
        setFacts(progress.facts);
        setRaw((now) => ({ ...now, answer: progress.raw }));
      });
    } catch {
      if (!abort.signal.aborted) show({ failure: 'The console does not answer.' });
    }
    // A question without an answer can be sent again.
    if (last.failure !== undefined || last.answer === '') setTyped((now) => now || last.question);
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
            hint: html`Kept only in the memory of this page. <a href="/keys/new">Create one</a>`,
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
          <button type="button" class="outline" disabled=${busy || exchanges.length === 0} onClick=${() => setExchanges([])}>Start over</button>
        </div>
      </form>
      <div class="try-answer">
        <div class="turns" aria-live="polite" aria-label="Conversation">
          ${exchanges.map(
            (exchange, index) => html`
              <div class="turn user" role="group" aria-label="You"><strong>You</strong><p>${exchange.question}</p></div>
              <${Outcome} exchange=${exchange} waits=${busy && index === exchanges.length - 1} />`,
          )}
          ${exchanges.length === 0 && html`<p class="muted">The answer comes here, with the node that served it, how long it took, and what a conversion could not carry.</p>`}
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

/** The answer, or the failure in red. */
function Outcome({ exchange, waits }: { exchange: Exchange; waits: boolean }): View | undefined {
  const { answer, failure, status } = exchange;
  if (failure !== undefined) {
    const what = status === undefined || status < 400 ? 'Failed' : `Failed with status ${status}`;
    return html`<div class="turn failure" role="group" aria-label="Failed">
      <strong class="wrong">${what}</strong>
      ${answer !== '' && html`<p>${answer}</p>`}
      <p class="wrong">${failure}</p>
      <p class="muted">Neither the question nor this is part of the conversation.</p>
    </div>`;
  }
  if (answer === '' && waits) return undefined;
  return html`<div class="turn assistant" role="group" aria-label="Answer">
    <strong>Answer</strong>
    ${answer === '' ? html`<p class="muted">No text; see the raw answer.</p>` : html`<p>${answer}</p>`}
  </div>`;
}

function FactList({ facts }: { facts: Facts }): View {
  const milliseconds = (ms: number | undefined): string | undefined =>
    ms === undefined ? undefined : `${Math.round(ms)} ms`;
  const isServed = facts.servedBy !== undefined;
  const shown: readonly (readonly [string, string | undefined])[] = [
    ['Status', String(facts.status)],
    ['Served by', facts.servedBy],
    ['Model', facts.model],
    ['Attempts', facts.attempts],
    ['Conversion', facts.conversion ?? (isServed ? 'none' : undefined)],
    ['Dropped', facts.dropped ?? (isServed ? 'nothing' : undefined)],
    ['First content', milliseconds(facts.firstMs)],
    ['Total', milliseconds(facts.totalMs) ?? '…'],
  ];
  return html`<dl class="facts">
    ${shown.map(([term, value]) => value !== undefined && html`<div><dt>${term}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}
