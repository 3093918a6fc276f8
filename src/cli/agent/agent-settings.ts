import { join } from 'node:path';
import { usageError } from '../command-error.ts';
import { oneLine } from '../table.ts';

/** The variable that holds the key of the gateway, for every agent that can read one of that name. */
export const keyVariable = 'MODEL_GATEWAY_KEY';

/** What an agent needs to know. */
export interface AgentFacts {
  /** With `/v1`, and no slash at the end. */
  readonly gatewayURL: string;
  readonly model: string;
  readonly displayName?: string | undefined;
  readonly contextTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: Date;
}

/** A file of settings of an agent: members to merge into a file of JSON or YAML, or a whole text. */
export type SettingsFile = {
  readonly path: string;
  /** Files that the agent also reads, and that take precedence over this one. */
  readonly rivals?: readonly string[];
} & (
  | { readonly format: 'text'; readonly text: string }
  | {
      readonly format: 'json' | 'yaml';
      readonly settings: Settings;
      /** Set only where the file has no such member. */
      readonly ifAbsent?: Settings;
      /** Members by which the file would send another credential to the gateway. */
      readonly credentials?: readonly CredentialPlace[];
    }
);

/** A member that is a credential, unless it is what we write; with `names` one that may hold credentials of these names. */
export interface CredentialPlace {
  readonly path: readonly string[];
  /** In lower case: members of an object, or names before `:` or `=` on a line or in an item of a list. */
  readonly names?: readonly string[];
}

/** Headers that carry a credential, to any vendor. */
const credentialHeaders = ['authorization', 'proxy-authorization', 'x-api-key', 'api-key', 'x-goog-api-key'];

export interface Settings {
  readonly [member: string]: string | number | boolean | Settings;
}

export interface AgentSettings {
  readonly files: readonly SettingsFile[];
  /** The variable from which the agent reads the key. */
  readonly key: string;
  /** The command that starts the agent with these settings. */
  readonly start: string;
}

/** Codex layers a profile's own file on `config.toml`, so nothing of the user's file changes. */
function codex({ gatewayURL, model, home, env }: AgentFacts): AgentSettings {
  const text = `# Codex CLI: codex --profile model-gateway
model = ${JSON.stringify(model)}
model_provider = "model-gateway"

[model_providers.model-gateway]
name = "Model Gateway"
base_url = ${JSON.stringify(gatewayURL)}
auth = { command = "printenv", args = ["${keyVariable}"] }
`;
  const path = join(env['CODEX_HOME'] || join(home, '.codex'), 'model-gateway.config.toml');
  return {
    files: [{ path, format: 'text', text }],
    key: keyVariable,
    start: 'codex --profile model-gateway',
  };
}

function claude(facts: AgentFacts): AgentSettings {
  const { gatewayURL, model, contextTokens, outputTokens, home, env } = facts;
  const settings = {
    apiKeyHelper: `printenv ${keyVariable}`,
    env: {
      // Claude Code adds /v1/messages.
      ANTHROPIC_BASE_URL: gatewayURL.replace(/\/v1$/, ''),
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      ...(contextTokens === undefined ? {} : { CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextTokens) }),
      ...(outputTokens === undefined ? {} : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(outputTokens) }),
    },
  };
  const path = join(env['CLAUDE_CONFIG_DIR'] || join(home, '.claude'), 'settings.json');
  const credentials = [
    { path: ['env', 'ANTHROPIC_AUTH_TOKEN'] },
    { path: ['env', 'ANTHROPIC_API_KEY'] },
    { path: ['env', 'ANTHROPIC_CUSTOM_HEADERS'], names: credentialHeaders },
    { path: ['apiKeyHelper'] },
  ];
  return { files: [{ path, format: 'json', settings, credentials }], key: keyVariable, start: 'claude' };
}

/** Whether opencode, which reads variables and files into its settings, would write another text in place of this one. */
function isReplaced(text: string): boolean {
  return /\{(?:env|file):/i.test(text);
}

function opencode(facts: AgentFacts): AgentSettings {
  const { gatewayURL, model, displayName, contextTokens, outputTokens, home, env } = facts;
  if (isReplaced(model)) {
    throw usageError(
      `the model ${JSON.stringify(model)} cannot be written for opencode, which puts a variable or a file in place of {env:…} and {file:…}.`,
    );
  }
  // opencode demands both, and asks for answers of this length: with an unknown one, a quarter of the window leaves room.
  const limit = contextTokens === undefined ? undefined : contextTokens;
  const entry = {
    name:
      displayName === undefined || isReplaced(displayName) || oneLine(displayName) !== displayName
        ? model
        : displayName,
    ...(limit === undefined
      ? {}
      : { limit: { context: limit, output: outputTokens ?? Math.max(1, Math.floor(limit / 4)) } }),
  };
  const settings = {
    model: `model-gateway/${model}`,
    small_model: `model-gateway/${model}`,
    provider: {
      'model-gateway': {
        npm: '@ai-sdk/openai-compatible',
        name: 'Model Gateway',
        options: { baseURL: gatewayURL, apiKey: `{env:${keyVariable}}` },
        models: { [model]: entry },
      },
    },
  };
  const folder = join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'opencode');
  const provider = ['provider', 'model-gateway'];
  const file: SettingsFile = {
    path: join(folder, 'opencode.json'),
    rivals: [join(folder, 'opencode.jsonc')],
    format: 'json',
    settings,
    ifAbsent: { $schema: 'https://opencode.ai/config.json' },
    credentials: [
      { path: [...provider, 'options', 'apiKey'] },
      { path: [...provider, 'options', 'headers'], names: credentialHeaders },
      { path: [...provider, 'models', model, 'headers'], names: credentialHeaders },
    ],
  };
  return { files: [file], key: keyVariable, start: 'opencode' };
}

function aider({ gatewayURL, model, contextTokens, outputTokens, home }: AgentFacts): AgentSettings {
  const name = `openai/${model}`;
  const settings = {
    'openai-api-base': gatewayURL,
    model: name,
    'weak-model': name,
    // A model of a gateway is in no list that aider brings.
    'show-model-warnings': false,
  };
  const metadata = {
    litellm_provider: 'openai',
    mode: 'chat',
    ...(contextTokens === undefined ? {} : { max_input_tokens: contextTokens }),
    ...(outputTokens === undefined ? {} : { max_output_tokens: outputTokens, max_tokens: outputTokens }),
  };
  const files: SettingsFile[] = [
    {
      path: join(home, '.aider.conf.yml'),
      format: 'yaml',
      settings,
      credentials: [
        { path: ['openai-api-key'] },
        { path: ['api-key'], names: ['openai'] },
        { path: ['set-env'], names: ['openai_api_key'] },
      ],
    },
  ];
  if ((contextTokens ?? outputTokens) !== undefined)
    files.push({
      path: join(home, '.aider.model.metadata.json'),
      format: 'json',
      settings: { [name]: metadata },
    });
  return { files, key: 'AIDER_OPENAI_API_KEY', start: 'aider' };
}

function cline(facts: AgentFacts): AgentSettings {
  const { gatewayURL, model, contextTokens, outputTokens, home, env, now } = facts;
  const provider = 'openai-compatible';
  const settings = {
    version: 1,
    lastUsedProvider: provider,
    providers: {
      [provider]: {
        settings: {
          provider,
          model,
          baseUrl: gatewayURL,
          ...(contextTokens === undefined ? {} : { contextWindow: contextTokens }),
          ...(outputTokens === undefined ? {} : { maxTokens: outputTokens }),
        },
      },
    },
  };
  const file: SettingsFile = {
    path: join(env['CLINE_DATA_DIR'] || join(home, '.cline', 'data'), 'settings', 'providers.json'),
    format: 'json',
    settings,
    // Cline discards a file whose providers have no such time.
    ifAbsent: { providers: { [provider]: { updatedAt: now.toISOString(), tokenSource: 'manual' } } },
    credentials: [
      { path: ['providers', provider, 'settings', 'apiKey'] },
      { path: ['providers', provider, 'settings', 'headers'], names: credentialHeaders },
    ],
  };
  return { files: [file], key: 'OPENAI_API_KEY', start: 'cline' };
}

/** The settings of every agent that `model-gateway agent` knows. */
export const agentSettings = { codex, claude, opencode, aider, cline } as const satisfies Readonly<
  Record<string, (facts: AgentFacts) => AgentSettings>
>;

export type AgentName = keyof typeof agentSettings;
