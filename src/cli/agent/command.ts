import { homedir } from 'node:os';
import { Argument, type Command } from 'commander';
import { hasKeyLength } from '../../resources/key-text.ts';
import type { AddCommand } from '../add-command.ts';
import { usageError } from '../command-error.ts';
import type { CommandContext } from '../context.ts';
import { gatewayURLFlag } from '../gateway-url-flag.ts';
import { explained } from '../help.ts';
import { type AgentName, type AgentSettings, agentSettings, keyVariable } from './agent-settings.ts';
import { type GatewayModel, listedModel } from './listed-model.ts';
import { mergedText } from './merged-text.ts';
import { writeSettings } from './write-settings.ts';

interface Flags {
  readonly model: string;
  readonly gatewayUrl?: string;
  readonly write?: boolean;
  readonly yes?: boolean;
}

/** Where standalone mode listens by default. */
const defaultURL = 'http://127.0.0.1:8080/v1';

/** `agent` */
export const addAgent: AddCommand = (program, context) => {
  const command: Command = program
    .command('agent')
    .description('Prints, or writes, the settings that let a coding agent use the gateway.')
    .addArgument(new Argument('<agent>', 'the agent').choices(Object.keys(agentSettings)))
    .requiredOption('--model <name>', 'a name that the gateway lists')
    .option('--gateway-url <url>', `base URL of the gateway (${defaultURL})`, gatewayURLFlag)
    .option('--write', "merge them into the agent's own files, after a question")
    .option('-y, --yes', 'do not ask')
    .action((agent: AgentName, flags: Flags) => runAgent(context, agent, flags));
  explained(command, {
    notes: [
      `Agents: ${Object.keys(agentSettings).join(', ')}. The settings hold no key:`,
      `the agent reads it from a variable. This command reads it from`,
      `${keyVariable}, to ask the gateway for the model and its window.`,
    ],
    examples: ['agent codex --model gpt-5', 'agent claude --model claude-sonnet --write'],
  });
};

async function runAgent(context: CommandContext, agent: AgentName, flags: Flags): Promise<void> {
  const { env, err } = context;
  const url = flags.gatewayUrl ?? urlOfEnvironment(env) ?? defaultURL;
  const key = keyOfEnvironment(env);
  const known: GatewayModel | undefined = key
    ? await listedModel(url, key, flags.model, context.signal)
    : undefined;
  const settings = agentSettings[agent]({
    ...known,
    gatewayURL: url,
    model: flags.model,
    home: env['HOME'] || homedir(),
    env,
    now: context.clock.wall(),
  });
  if (flags.write === true) await writeSettings(context, settings.files, flags.yes === true);
  else printSettings(context, settings);
  if (known === undefined)
    err.write(
      `The gateway was not asked for the model, because ${keyVariable} is not set: a wrong name and the context window are not noticed.\n`,
    );
  else if (known.contextTokens === undefined)
    err.write(
      `The gateway does not know the context window of ${JSON.stringify(flags.model)}: write it into the model's card, so that the agent does not guess.\n`,
    );
  err.write(`Then: export ${settings.key}=mgk_…  # a key of the gateway\n      ${settings.start}\n`);
}

function printSettings({ out, err }: CommandContext, { files }: AgentSettings): void {
  for (const file of files) {
    err.write(`${file.path}:\n`);
    out.write(mergedText(undefined, file));
  }
}

/** The key, if one is set. What cannot be one is refused before a request, whose error would print it. */
function keyOfEnvironment(env: CommandContext['env']): string | undefined {
  const key = env[keyVariable];
  if (key === undefined || key === '') return undefined;
  if (hasKeyLength(key) && /^[\x21-\x7e]+$/.test(key)) return key;
  throw usageError(`${keyVariable} holds no key: a key has 24 to 512 visible ASCII characters.`);
}

function urlOfEnvironment(env: CommandContext['env']): string | undefined {
  const text = env['MODEL_GATEWAY_GATEWAY_URL'];
  if (text === undefined || text === '') return undefined;
  try {
    return gatewayURLFlag(text);
  } catch {
    throw usageError('MODEL_GATEWAY_GATEWAY_URL is no http or https URL without user, query and fragment.');
  }
}
