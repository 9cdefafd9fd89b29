import { expect, test } from 'vitest';
import { importedFiles, importViolations } from './arrows.ts';
import { type Source, sources } from './sources.ts';
import { testRows } from '../support/rows.ts';

test('no file imports against the arrows', () => {
  const files = sources('{src,emulators}/**/*.ts');
  expect(files.length).toBeGreaterThan(20);
  expect(files.flatMap(importViolations)).toEqual([]);
});

const imports = (path: string, target: string) =>
  importViolations({
    path,
    text: `const one = 1;\nimport { x } from '${target}';\nvoid [one, x];\n`,
  });

testRows([
  ['src/domain/a.ts', '../machines/b.ts'],
  ['src/domain/a.ts', 'node:fs'],
  ['src/wire/a.ts', '../domain/b.ts'],
  ['src/machines/a.ts', '../adapters/clock/port.ts'],
  ['src/machines/a.ts', 'rxjs'],
  ['src/machines/a.ts', '@xstate/graph'],
  ['src/actors/a.ts', '../adapters/bmdb/pg/pg-bmdb.ts'],
  ['src/actors/a.ts', '../config.ts'],
  ['src/actors/tasks/a.ts', '../provide.ts'],
  ['src/actors/tasks/recovery/a.ts', '../../mirror/mirror.ts'],
  ['src/actors/turns/a.ts', '../tasks/b.ts'],
  ['src/actors/guard/a.ts', '../cell-pool.ts'],
  ['src/actors/session-keeper.ts', './turns/b.ts'],
  ['src/adapters/ssh/a.ts', '../bmdb/port.ts'],
  ['src/adapters/ssh/a.ts', '../log/pino-log.ts'],
  ['src/adapters/provider/equinix/a.ts', '../static/b.ts'],
  ['src/adapters/provider/drivers.ts', './rack/client.ts'],
  ['src/adapters/provider/equinix/a.ts', '../../../../emulators/hosts/host.ts'],
  ['src/adapters/balancer/anexia/a.ts', '../haproxy/b.ts'],
  ['src/adapters/balancer/drivers.ts', './anexia/client.ts'],
  ['src/adapters/ssh/a.ts', '../driver-kit/b.ts'],
  ['src/adapters/webhooks/a.ts', '../driver-kit/turns.ts'],
  ['src/adapters/driver-kit/a.ts', '../provider/static/b.ts'],
  ['src/adapters/ssh/a.ts', '../../actors/b.ts'],
  ['src/adapters/bmdb/pg/guard/a.ts', '../tasks/b.ts'],
  ['src/adapters/bmdb/pg/tasks/a.ts', '../session.ts'],
  ['src/adapters/bmdb/pg/pool.ts', './claims/b.ts'],
  ['src/console/a.ts', '../adapters/bmdb/pg/pg-bmdb.ts'],
  ['src/console/page/a.ts', '../../actors/b.ts'],
  ['src/conformance/a.ts', '../adapters/provider/static/driver.ts'],
  ['src/conformance/a.ts', '../actors/tasks/agent-start.ts'],
  ['src/conformance/steps/a.ts', '../../config.ts'],
  ['src/agent/a.ts', '../domain/b.ts'],
  ['emulators/hosts/a.ts', '../../src/adapters/clock/port.ts'],
  ['src/config/a.ts', '../actors/b.ts'],
  ['src/cli/a.ts', '../main.ts'],
  ['src/daemon/a.ts', '../agent/b.ts'],
  ['src/cli/a.ts', '../../test/doubles/b.ts'],
])('%s must not import %s', (path, target) => {
  expect(imports(path, target)).toEqual([`${path}:2 imports ${target}`]);
});

testRows([
  ['src/domain/a.ts', './b.ts'],
  ['src/machines/a.ts', 'xstate'],
  ['src/machines/a.ts', '../domain/b.ts'],
  ['src/actors/a.ts', '../adapters/provider/port.ts'],
  ['src/actors/a.ts', 'rxjs'],
  ['src/actors/provide.ts', './tasks/agent-start.ts'],
  ['src/actors/tasks/recovery/a.ts', '../../turns/task-pool.ts'],
  ['src/actors/provisioning/a.ts', '../session-keeper.ts'],
  ['src/adapters/ssh/a.ts', '../clock/port.ts'],
  ['src/adapters/provider/equinix/a.ts', '../port.ts'],
  ['src/adapters/provider/equinix/a.ts', '../../driver-kit/b.ts'],
  ['src/adapters/balancer/anexia/a.ts', '../../driver-kit/b.ts'],
  ['src/adapters/balancer/anexia/a.ts', '../metrics.ts'],
  ['src/adapters/balancer/drivers.ts', './anexia/driver.ts'],
  ['src/adapters/driver-kit/a.ts', '../provider/port.ts'],
  ['src/adapters/provider/drivers.ts', './my-rack2/driver.ts'],
  ['src/adapters/agents/a.ts', '../../wire/b.ts'],
  ['src/console/a.ts', '../machines/b.ts'],
  ['src/conformance/steps/a.ts', '../../adapters/ssh/port.ts'],
  ['src/adapters/bmdb/pg/tasks/a.ts', '../claims/b.ts'],
  ['src/adapters/bmdb/pg/tasks/a.ts', '../pool.ts'],
  ['src/adapters/bmdb/pg/pg-bmdb.ts', './tasks/b.ts'],
  ['src/conformance/steps/a.ts', '../../actors/tasks/host-key-proof.ts'],
  ['src/agent/a.ts', '../wire/b.ts'],
  ['src/main.ts', './adapters/bmdb/pg/pg-bmdb.ts'],
])('%s may import %s', (path, target) => {
  expect(imports(path, target)).toEqual([]);
});

testRows([
  "export * from '../machines/b.ts';",
  "export { x } from '../machines/b.ts';",
  "import type { X } from '../machines/b.ts';",
  "import '../machines/b.ts';",
  "const x = await import('../machines/b.ts');",
  "type X = import('../machines/b.ts').X;",
])('%s counts as an import', (text) => {
  expect(importViolations({ path: 'src/domain/a.ts', text })).toHaveLength(1);
});

/** Programs of the product: the daemon with its thread, and the agent. */
const PROGRAMS = ['src/main.ts', 'src/daemon/agent-thread.ts', 'src/agent/main.ts'];
/** The one door to the pretended world: its commands, loaded when one of them is asked for. */
const DOOR = 'src/main.ts:emulators/commands/program.ts';

test('no program of the product loads a file of the pretended world', () => {
  const files = loadedBy(PROGRAMS, sources('{src,emulators}/**/*.ts'));
  expect(files).toEqual(expect.arrayContaining(['src/daemon/daemon.ts', 'src/commands/run.ts']));
  expect(files.filter((path) => path.startsWith('emulators/'))).toEqual([]);
});

test.each([
  ['at its start', "import './far.ts';"],
  ['when it is needed', "export const far = () => import('./far.ts');"],
])('a file that a file of the product imports %s is found', (_, text) => {
  const files = [
    { path: 'src/main.ts', text: "await import('./near.ts');" },
    { path: 'src/near.ts', text },
    { path: 'src/far.ts', text: "export * from '../emulators/kit/clock.ts';" },
  ];
  expect(loadedBy(['src/main.ts'], files)).toContain('emulators/kit/clock.ts');
});

/** Paths of all files that the programs import, themselves or through others. */
function loadedBy(programs: readonly string[], files: readonly Source[]): readonly string[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const found = new Set(programs);
  for (const path of found) {
    const text = texts.get(path);
    if (text === undefined) continue;
    for (const target of importedFiles(path, text)) {
      if (`${path}:${target}` !== DOOR) found.add(target);
    }
  }
  return [...found];
}
