import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a caller wants the table of a run. */
const COSTS = 'SHEPHERD_TEST_COSTS';
/** File in which the processes of a run collect the costs. */
const TABLE = 'SHEPHERD_TEST_COSTS_MEANWHILE';
const SHOWN = 20;
/** The kernel counts CPU time of ended children in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** CPU time of this process and of its children that ended, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  const stat = '/proc/self/stat';
  const fields = existsSync(stat) ? readFileSync(stat, 'utf8').split(') ')[1]!.split(' ') : [];
  const [ofChildren = 0, inKernel = 0] = fields.slice(13, 15).map(Number);
  return (user + system) / 1e6 + (ofChildren + inKernel) / TICKS_PER_SECOND;
}

/** Adds a line to the table of costs: of a test file, or of a program that tests share. */
export function leaveCost(cost: { cpu: number; wall: number; of: string }): void {
  const file = process.env[TABLE];
  if (file === undefined) return;
  appendFileSync(file, `${cost.cpu.toFixed(2)}\t${cost.wall.toFixed(2)}\t${cost.of}\n`);
}

/** The costliest rows, after one line about all of them. */
export function tableOf(text: string, ownCpu: number): string {
  const rows = text.split('\n').filter(Boolean);
  const cpuOf = (row: string) => Number(row.split('\t')[0]);
  const sorted = rows.toSorted((a, b) => cpuOf(b) - cpuOf(a));
  const inFiles = rows.reduce((sum, row) => sum + cpuOf(row), 0);
  const shown = sorted.slice(0, SHOWN).map((row) => {
    const [cpu = '', wall = '', of = ''] = row.split('\t');
    return `${cpu.padStart(8)}${wall.padStart(9)}  ${of}`;
  });
  return [
    `CPU: ${Math.round(inFiles)} s in tests, ${Math.round(ownCpu)} s in vitest itself`,
    `   CPU s   wall s  the costliest (${COSTS}=FILE writes the table of all)`,
    ...shown,
  ].join('\n');
}

/** Runs before and after all test files, and prints what each of them cost. */
export function setup(): () => void {
  const dir = mkdtempSync(join(tmpdir(), 'costs-'));
  const table = join(dir, 'files.tsv');
  process.env[TABLE] = table;
  return () => {
    const text = existsSync(table) ? readFileSync(table, 'utf8') : '';
    rmSync(dir, { recursive: true });
    const { user, system } = process.cpuUsage();
    if (text !== '') console.log(tableOf(text, (user + system) / 1e6));
    const asked = process.env[COSTS];
    if (asked) writeFileSync(asked, text);
  };
}
