import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stopAgentCommand } from '../../src/actors/tasks/end-agent.ts';
import { initCommand } from '../../src/adapters/driver-kit/creation.ts';
import {
  logScript,
  lookScript,
  postInstallScript,
  rebootScript,
  startScript,
  whole,
  wipeScript,
} from '../../src/adapters/provider/hetzner-robot/scripts.ts';
import { uploadSteps } from '../../src/adapters/ssh/ssh2-upload.ts';
import {
  GUARD,
  INSTALLATION,
  startRescue,
} from '../adapters/provider/hetzner-robot/install/stands.ts';
import { isProvided } from '../support/programs.ts';
import { root } from './sources.ts';

const { error } = spawnSync('shellcheck', ['--version']);
const hasShellcheck = isProvided(!error, { tested: 'scripts for machines', by: 'shellcheck' });

/** Exceptions for single scripts. */
const ALLOWED: Readonly<Record<string, string>> = {
  // It contains other scripts as words in single quotes, where nothing is to be expanded.
  start: 'SC1003,SC2016',
  'start by WWN': 'SC1003,SC2016',
  // Two variables are set in one line, the first to nothing.
  'upload-prepare': 'SC1007',
  // The read may fail; `fail` is right after either half.
  'upload-install': 'SC2015,SC2034',
  // Process ids are words on purpose, and seconds are only counted.
  'stop-agent': 'SC2034,SC2086',
};

function scripts(): Readonly<Record<string, string>> {
  const inRescue = startRescue('dash');
  inRescue.run(startScript(INSTALLATION));
  const text = '';
  const paths = { directory: text, stem: text, parts: text, own: text, copy: text, target: text };
  const names = { ...paths, elevated: true, tools: text, sizeBytes: 1, sha256: text, mode: '755' };
  const { install, ...steps } = uploadSteps(names, ['sudo', '-n']);
  const uploads = [...Object.values(steps), install('')].flatMap((argv) =>
    argv.flatMap((word, at) => (word === '-c' ? [[argv[at + 2]!, argv[at + 1]!] as const] : [])),
  );
  return {
    ...Object.fromEntries(uploads),
    look: whole(lookScript('bnxaaaas')),
    reboot: whole(rebootScript()),
    log: whole(logScript('bnxaaaas')),
    wipe: whole(wipeScript()),
    start: whole(startScript(INSTALLATION)),
    'start by WWN': whole(startScript({ ...INSTALLATION, drives: ['eui.1', '0x2'] })),
    install: inRescue.read(`${GUARD}/install.sh`)!,
    'post-install': postInstallScript(INSTALLATION),
    'first boot': initCommand('0'.repeat(40), 'true'),
    ...Object.fromEntries(
      globSync('{src,emulators}/**/*.sh', { cwd: root }).map((path) => [
        path,
        readFileSync(join(root, path), 'utf8'),
      ]),
    ),
    'stop-agent': stopAgentCommand('/root/agent')[2]!,
  };
}

test.runIf(hasShellcheck)("passes Debian's shellcheck with the scripts for machines", () => {
  const found = Object.entries(scripts()).map(([name, script]) => {
    const allowed = ALLOWED[name] ? ['-e', ALLOWED[name]] : [];
    const args = ['-s', 'sh', '-f', 'gcc', ...allowed, '-'];
    return [name, spawnSync('shellcheck', args, { input: script, encoding: 'utf8' }).stdout];
  });
  expect(found.length).toBeGreaterThan(12);
  expect(found.filter(([, complaints]) => complaints !== '')).toEqual([]);
});
