import { CopyButton } from './copy-button.ts';
import { html, useState, type View } from './htm-preact.js';

/** How to use a key with the SDKs and agents. */
function snippetsFor(baseURL: string, key: string): Readonly<Record<string, string>> {
  const root = baseURL.replace(/\/v1$/, '');
  return {
    'OpenAI SDKs': `export OPENAI_BASE_URL=${baseURL}\nexport OPENAI_API_KEY=${key}`,
    'Anthropic SDKs': `export ANTHROPIC_BASE_URL=${root}\nexport ANTHROPIC_AUTH_TOKEN=${key}`,
    'Claude Code': `export ANTHROPIC_BASE_URL=${root}\nexport ANTHROPIC_AUTH_TOKEN=${key}\nexport ANTHROPIC_MODEL=a-model\nclaude`,
    'Codex CLI': `export MODEL_GATEWAY_KEY=${key}\ncodex -c model_provider=gateway -c model=a-model \\\n  -c 'model_providers.gateway={name="Model Gateway",base_url="${baseURL}",env_key="MODEL_GATEWAY_KEY",wire_api="responses"}'`,
    curl: `curl -N ${baseURL}/chat/completions \\\n  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\\n  -d '{"model":"a-model","stream":true,"messages":[{"role":"user","content":"Hello"}]}'`,
  };
}

/** `value`: a key that was just made; of any other the text is not known. */
export function Snippets({
  gatewayURL,
  value = 'the-key',
}: {
  gatewayURL: string | undefined;
  value?: string;
}): View {
  const snippets = snippetsFor(gatewayURL ?? 'http://GATEWAY/v1', value);
  const names = Object.keys(snippets);
  const [chosen, setChosen] = useState(names[0] ?? '');
  const text = snippets[chosen] ?? '';
  return html`<article class="snippets">
    <h2>Use it</h2>
    ${gatewayURL === undefined && html`<p><small>The gateway's address is not known here; put it for GATEWAY.</small></p>`}
    <label class="inline"><span>With</span>
      <select onChange=${(event: { currentTarget: HTMLSelectElement }) => setChosen(event.currentTarget.value)}>
        ${names.map((name) => html`<option value=${name} selected=${name === chosen}>${name}</option>`)}
      </select>
    </label>
    <div class="copy-line"><pre tabindex="0" aria-label=${chosen}>${text}</pre><${CopyButton} text=${text} what=${chosen} /></div>
  </article>`;
}
