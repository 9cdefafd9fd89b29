import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testRows } from '../support/rows.ts';
import { valuesImported } from '../support/projects.ts';
import { root, sources } from './sources.ts';

/*
 * Finds code that reaches for time, chance or the outside world past the ports, so that virtual
 * time would not hold. The linter sees globals; this test sees imports, and functions that keep
 * their own time unless they are given a clock.
 */

/** Rooms that simulate or touch the world: nothing here is checked. */
const WORLDLY = /^src\/(adapters|agent)\//;
/**
 * Rooms that see the world only through ports; the others may read files and listen, as programs,
 * the configuration and the console do.
 */
const BY_PORTS = /^src\/(domain|machines|actors|daemon|conformance)\//;
/** Files in these rooms that reach for the world; each with the reason. */
const WORLDLY_FILES: Readonly<Record<string, string>> = {
  'src/daemon/real-ports.ts': 'gives daemons the real world',
  'src/daemon/agent-thread.ts': 'is a thread of its own in the real world',
  'src/daemon/ssh-keys.ts': 'names this computer in the keys of the real world',
  'src/daemon/check.ts': 'looks at files before any daemon is started',
};
/** Where the real time of streams may be chosen. */
const CHOOSES_TIME = /^src\/(commands\/|main\.ts$|daemon\/real-ports\.ts$)/;

/** Modules that consist only of time. */
const TIMERS = /^(node:)?(timers(\/promises)?|perf_hooks)$/;
/** Random functions of `node:crypto`. */
const DRAWS = /^(\*|random|generate|getRandomValues|webcrypto$|createDiffieHellman$)/;
const REAL_SCHEDULERS = /^(async|asap|animationFrame)Scheduler$|^animationFrames$/;
/** Packages of rooms that see the world through ports; others might reach for the world. */
const PURE_PACKAGES = /^(\..*|xstate|rxjs|zod|tinyqueue|p-limit|fast-xml-builder|node:crypto)$/;
/** Adapters of every daemon, whatever the world: without I/O of their own. */
const PURE_ADAPTERS =
  /\/adapters\/(.+\/port|agents\/takeover-protocol|driver-kit\/(fleet-provider|calls|orders|looks|creation|stand-ins|redaction))\.ts$/;
/** Functions that keep their own time: by name, with the parameter that replaces that time. */
const TIMED: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(
    ['timer', 'interval', 'debounceTime', 'throttleTime', 'auditTime', 'sampleTime', 'delay']
      .concat(['bufferTime', 'windowTime', 'timeout', 'timeoutWith', 'timestamp', 'timeInterval'])
      .map((name) => [name, /scheduler\b/i]),
  ),
  createActor: /\bclock\b/,
};

/** Everything in a file that reaches past the ports. */
function reaches(path: string, text: string): string[] {
  if (WORLDLY.test(path)) return [];
  const isByPorts = BY_PORTS.test(path) && WORLDLY_FILES[path] === undefined;
  const found = text.match(/(?<![.\w])Date\(\)/g)?.slice() ?? [];
  if (isByPorts) found.push(...(text.match(/(?<!(: |typeof |= |<))\bimport\('/g) ?? []));
  for (const { from, names } of valuesImported(text)) {
    const isAdapter = from.includes('/adapters/');
    const isWorld =
      isByPorts && (!PURE_PACKAGES.test(from) || (isAdapter && !PURE_ADAPTERS.test(from)));
    if (TIMERS.test(from) || isWorld) found.push(from);
    for (const name of names) {
      const isChance = from === 'node:crypto' && DRAWS.test(name);
      const isTime = from.startsWith('rxjs') && (name === '*' || REAL_SCHEDULERS.test(name));
      if (isChance || (isTime && !CHOOSES_TIME.test(path))) found.push(name);
      const given = /^(rxjs|xstate)/.test(from) && TIMED[name];
      if (!given) continue;
      for (const { index } of text.matchAll(new RegExp(`(?<![.\\w])${name}\\(`, 'g'))) {
        if (!given.test(argumentsAt(text, index + name.length))) found.push(name);
      }
    }
  }
  return found.map((what) => `${path} uses ${what}`);
}

/** The text between the parenthesis at the index and its closing one. */
function argumentsAt(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')' && (depth -= 1) === 0) return text.slice(from, at);
  }
  return '';
}

test('reaches nowhere for time, chance or the world past the ports', () => {
  expect(sources('src/**/*.ts').flatMap(({ path, text }) => reaches(path, text))).toEqual([]);
  expect(Object.keys(WORLDLY_FILES).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

testRows([
  ['new Date();', 'Date()'],
  ["import { setTimeout } from 'node:timers/promises';", 'node:timers/promises'],
  ["import { randomUUID as id } from 'node:crypto';", 'randomUUID'],
  ["import * as rxjs from 'rxjs';", '*'],
  ["import { asapScheduler } from 'rxjs';", 'asapScheduler'],
  ["import { timer } from 'rxjs';\ntimer(250);", 'timer'],
  ["import { timer } from 'rxjs';\ntimer({ each: at(250) });", 'timer'],
  ["import { createActor } from 'xstate';\ncreateActor(logic, { input });", 'createActor'],
  ["import { readFileSync } from 'node:fs';", 'node:fs'],
  ["import { Pool } from 'pg';", 'pg'],
  ["await import('node:fs');", "import('"],
  [
    "import { systemClock } from '../adapters/clock/system-clock.ts';",
    '../adapters/clock/system-clock.ts',
  ],
])('finds %s', (text, what) => {
  expect(reaches('src/daemon/a.ts', text)).toContain(`src/daemon/a.ts uses ${what}`);
  expect(reaches('src/adapters/a/b.ts', text)).toEqual([]);
});

testRows([
  'new Date(atMs);',
  "import { createHash } from 'node:crypto';",
  "import type { Socket } from 'node:net';",
  "import { type Pool } from 'pg';",
  "import { timer } from 'rxjs';\ntimer({ each: at(250), scheduler });",
  "import { createActor } from 'xstate';\ncreateActor(logic, { clock, input });",
])('leaves %s alone', (text) => {
  expect(reaches('src/daemon/a.ts', text)).toEqual([]);
});
