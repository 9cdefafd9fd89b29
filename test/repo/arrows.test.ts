import { expect, test } from 'vitest';
import { importViolations } from './arrows.ts';
import { sources } from './sources.ts';
import { testRows } from '../support/rows.ts';

test('has no import against the arrows', () => {
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
  ['src/actors/a.ts', '../adapters/bmdb/pg/pg-bmdb.ts'],
  ['src/actors/tasks/a.ts', '../provide.ts'],
  ['src/actors/turns/a.ts', '../tasks/b.ts'],
  ['src/actors/session-keeper.ts', './turns/b.ts'],
  ['src/adapters/ssh/a.ts', '../bmdb/port.ts'],
  ['src/adapters/provider/equinix/a.ts', '../static/b.ts'],
  ['src/adapters/provider/drivers.ts', './rack/client.ts'],
  ['src/adapters/ssh/a.ts', '../driver-kit/b.ts'],
  ['src/adapters/bmdb/pg/pool.ts', './claims/b.ts'],
  ['src/conformance/steps/a.ts', '../../config.ts'],
  ['emulators/hosts/a.ts', '../../src/adapters/clock/port.ts'],
  ['src/cli/a.ts', '../main.ts'],
  ['src/daemon/a.ts', '../agent/b.ts'],
  ['src/daemon/a.ts', '../../emulators/kit/clock.ts'],
  ['src/cli/a.ts', '../../test/doubles/b.ts'],
])('%s must not import %s', (path, target) => {
  expect(imports(path, target)).toEqual([`${path}:2 imports ${target}`]);
});

testRows([
  ['src/machines/a.ts', '../domain/b.ts'],
  ['src/actors/a.ts', '../adapters/provider/port.ts'],
  ['src/actors/provide.ts', './tasks/agent-start.ts'],
  ['src/actors/tasks/recovery/a.ts', '../../turns/turns.ts'],
  ['src/adapters/provider/equinix/a.ts', '../../driver-kit/b.ts'],
  ['src/adapters/balancer/drivers.ts', './anexia/driver.ts'],
  ['src/adapters/bmdb/pg/tasks/a.ts', '../claims/b.ts'],
  ['src/main.ts', './adapters/bmdb/pg/pg-bmdb.ts'],
])('%s may import %s', (path, target) => {
  expect(imports(path, target)).toEqual([]);
});

testRows([
  "export * from '../machines/b.ts';",
  "export { x } from '../machines/b.ts';",
  "import type { X } from '../machines/b.ts';",
  "const x = await import('../machines/b.ts');",
  "type X = import('../machines/b.ts').X;",
])('counts %s as an import', (text) => {
  expect(importViolations({ path: 'src/domain/a.ts', text })).toHaveLength(1);
});
