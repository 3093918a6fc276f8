import process from 'node:process';
import {
  type AgentPackage,
  claudeCodePackage,
  clinePackage,
  codexPackage,
  installAgent,
  opencodePackage,
} from './install-agent.ts';
import { installAider, type PythonProgram } from './install-aider.ts';

/** Why an agent cannot run here. */
export interface Missing {
  readonly missing: string;
}

/** Where each agent is. */
export interface InstalledAgents {
  readonly codex: string;
  readonly claudeCode: string;
  readonly opencode: string | Missing;
  readonly cline: string | Missing;
  readonly aider: PythonProgram | Missing;
}

/** Installs all agents into the user's cache folder, unless they are there. Throws if npm has one not. */
export async function installAgents(): Promise<InstalledAgents> {
  return {
    codex: await installAgent(codexPackage),
    claudeCode: await installAgent(claudeCodePackage),
    opencode: await onLinux(opencodePackage),
    cline: await onLinux(clinePackage),
    aider: await installAider(),
  };
}

async function onLinux(agent: AgentPackage): Promise<string | Missing> {
  return process.platform === 'linux' && process.arch === 'x64'
    ? await installAgent(agent)
    : { missing: 'only its package for Linux on x64 is pinned' };
}
