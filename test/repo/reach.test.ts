import { expect, test } from 'vitest';
import { excused, reachViolations } from './reach.ts';
import { sources } from './sources.ts';
import { testRows } from '../support/rows.ts';

test('nothing reaches for time, chance or the world past the ports', () => {
  const files = sources('src/**/*.ts');
  expect(files.flatMap(reachViolations)).toEqual([]);
  const paths = files.map(({ path }) => path);
  expect(excused.filter((path) => !paths.includes(path))).toEqual([]);
});

const found = (path: string, text: string) => reachViolations({ path, text });

testRows([
  'new Date();',
  'Date();',
  'Date.now();',
  'setTimeout(f, 1);',
  'setInterval(f, 1);',
  'setImmediate(f);',
  'performance.now();',
  "performance['now']();",
  'process.hrtime();',
  'process.uptime();',
  'globalThis.setTimeout(f, 1);',
  'AbortSignal.timeout(1);',
  'Math.random();',
  'crypto.randomUUID();',
  "import { setTimeout } from 'node:timers/promises';",
  "import timers from 'timers';",
  "import { performance } from 'node:perf_hooks';",
  "import { randomBytes } from 'node:crypto';",
  "import { randomUUID as id } from 'node:crypto';",
  "import * as crypto from 'node:crypto';",
  "import { webcrypto } from 'node:crypto';",
  "import { asapScheduler } from 'rxjs';",
  "import * as rxjs from 'rxjs';",
])('time and chance: %s', (text) => {
  expect(found('src/actors/a.ts', text)).toHaveLength(1);
  expect(found('src/console/a.ts', text)).toHaveLength(1);
  expect(found('src/adapters/a/b.ts', text)).toEqual([]);
});

testRows([
  "import { readFileSync } from 'node:fs';",
  "import { connect } from 'node:net';",
  "import os from 'node:os';",
  "import { Pool } from 'pg';",
  "import('node:fs');",
  "fetch('http://somewhere');",
  'process.env;',
  'process.nextTick(f);',
  "import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';",
  "import { systemClock } from '../adapters/clock/system-clock.ts';",
  "import { DRIVERS } from '../adapters/provider/drivers.ts';",
])('the world: %s', (text) => {
  expect(found('src/daemon/a.ts', text)).toHaveLength(1);
  expect(found('src/commands/a.ts', text)).toEqual([]);
  expect(found('src/daemon/real-ports.ts', text)).toEqual([]);
});

const TIMED =
  'timer interval debounceTime throttleTime auditTime sampleTime delay bufferTime windowTime timeout';
testRows(TIMED.split(' '))('%s of RxJS must be given a scheduler', (name) => {
  const of = (call: string) =>
    found('src/actors/a.ts', `import { ${name} as x } from 'rxjs';\n${call}`);
  expect(of('x(250);')).toEqual([
    `src/actors/a.ts:2 uses ${name} without a scheduler: take a Clock`,
  ]);
  expect(of('x({ each: 250 });')).toHaveLength(1);
  expect(of('x(250, scheduler);')).toEqual([]);
  expect(of('x(250, options.scheduler, { leading: true });')).toEqual([]);
  expect(of('x({ each: 250, scheduler });')).toEqual([]);
});

test('an actor must be given a clock', () => {
  const of = (call: string) =>
    found('src/actors/a.ts', `import { createActor } from 'xstate';\n${call}`);
  expect(of('createActor(logic);')).toHaveLength(1);
  expect(of('createActor(logic, { input });')).toHaveLength(1);
  expect(of('createActor(logic, { clock, input });')).toEqual([]);
});

testRows([
  'new Date(atMs);',
  'clock.setTimeout(f, 1);',
  "import { createHash } from 'node:crypto';",
  "import type { Socket } from 'node:net';",
  "import { type Pool } from 'pg';",
  "import { map } from 'rxjs';",
  "process.startsWith('Shepherd');",
  "import { createFleetProvider } from '../adapters/driver-kit/fleet-provider.ts';",
])('what reaches for nothing is left alone: %s', (text) => {
  expect(found('src/daemon/a.ts', text)).toEqual([]);
});
