import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyStateMachine } from 'xstate';
import { STATES } from '../../src/domain/states.ts';
import { balancer } from '../../src/machines/balancer.ts';
import { cell } from '../../src/machines/cell.ts';
import { fleet } from '../../src/machines/fleet.ts';
import { guard } from '../../src/machines/guard.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { provisioner } from '../../src/machines/provisioner.ts';
import { deprovision } from '../../src/machines/deprovision.ts';
import { recovery } from '../../src/machines/recovery.ts';
import { session } from '../../src/machines/session.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import { layoutDocuments } from './layouts.ts';
import { mermaidOf, overviewOf } from './mermaid.ts';

/** Every chart that ships. */
const CHARTS: readonly AnyStateMachine[] = [
  ...[lifecycle, agentStart, recovery, deprovision, cell],
  ...[fleet, guard, session, balancer, provisioner],
];

const PAGE = 'docs/machines/README.md';

/**
 * All generated files below `root`, by path relative to it. The README keeps its handwritten text.
 */
export async function diagramDocuments(root: string): Promise<Map<string, string>> {
  const documents = await layoutDocuments();
  for (const machine of CHARTS) {
    documents.set(`docs/machines/${machine.id}.mmd`, mermaidOf(machine));
    documents.set(`docs/machines/${machine.id}.json`, configOf(machine));
  }
  const parts = { lifecycle: fence(overviewOf(lifecycle)), states: statesOf(lifecycle) };
  documents.set(PAGE, withParts(readFileSync(join(root, PAGE), 'utf8'), parts));
  return documents;
}

const fence = (text: string) => `\`\`\`mermaid\n${text}\`\`\`\n`;

/** The states of a machine's life with their meanings. */
function statesOf({ root }: AnyStateMachine): string {
  const states = { ...root.states['alive']!.states['life']!.states, ...root.states };
  return STATES.map((name) => `- **${name}**: ${states[name]!.description}\n`).join('');
}

/** The chart's configuration as data: with names, without mapping functions. */
const configOf = (machine: AnyStateMachine): string =>
  `${JSON.stringify({ ...machine.config, context: undefined }, null, 2)}\n`;

/** Replaces the text between the markers of each part. */
function withParts(page: string, parts: Readonly<Record<string, string>>): string {
  let fresh = page;
  for (const [name, part] of Object.entries(parts)) {
    const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
    const from = fresh.indexOf(begin);
    const to = fresh.indexOf(end);
    if (from < 0 || to < from) throw new Error(`${PAGE} lacks ${begin} … ${end}: add both again`);
    fresh = `${fresh.slice(0, from)}${begin}\n\n${part}\n${fresh.slice(to)}`;
  }
  return fresh;
}
