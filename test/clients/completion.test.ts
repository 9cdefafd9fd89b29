import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openConsole } from '../console/api/console-stand.ts';
import { machine, scriptedFleet } from '../console/scripted-fleet.ts';
import { PATIENCE } from '../support/patience.ts';
import { requireFile, runProgram } from './debian-client.ts';

/** V46: the shells that people have ask this program what a word may become. */

const LAUNCHER = join(import.meta.dirname, '../../bin/shepherd.mjs');
const directory = mkdtempSync(join(tmpdir(), 'shepherd-completion-'));
let url: string;
beforeAll(async () => {
  requireFile('/usr/share/bash-completion/bash_completion', 'bash-completion');
  requireFile('/usr/bin/zsh', 'zsh');
  requireFile('/usr/bin/fish', 'fish');
  const launcher = join(directory, 'shepherd');
  writeFileSync(launcher, `#!/bin/sh\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`);
  chmodSync(launcher, 0o755);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = await ask(
      '/bin/sh',
      ['-c', `shepherd completion ${shell}`],
      'http://none.invalid/',
    );
    writeFileSync(join(directory, `completion.${shell}`), script);
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A console in the same process answers only while nothing blocks it, so shells run beside it. */
async function ask(shell: string, args: readonly string[], console: string): Promise<string> {
  return runProgram(shell, args, {
    ...{ PATH: [directory, '/usr/bin', '/bin'].join(delimiter), SHEPHERD_URL: console },
    ...{ HOME: directory, XDG_CONFIG_HOME: directory, TERM: 'dumb' },
    ...{ NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
  });
}

const inBash = (line: string) => `
  source /usr/share/bash-completion/bash_completion
  source ${directory}/completion.bash
  COMP_LINE='${line}' COMP_POINT=${line.length} COMP_TYPE=9 COMP_KEY=9
  read -ra COMP_WORDS <<< "$COMP_LINE"
  [[ "$COMP_LINE" == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
  __shepherd_complete
  printf '%s\\n' "\${COMPREPLY[@]}"`;

const inFish = (line: string) => `
  source ${directory}/completion.fish
  complete -C '${line}'`;

/** A terminal of its own, in which Tab is pressed; what the line became is printed. */
const inZsh = (line: string) => `
  zmodload zsh/zpty
  zpty shell zsh -f -i
  zpty -w shell 'PROMPT=; autoload -Uz compinit && compinit -u -D; source ${directory}/completion.zsh'
  zpty -w shell 'show-line() { print -r -- "<\${BUFFER}>" }; zle -N show-line; bindkey "^X" show-line; print ready'
  zpty -r shell seen '*ready*ready*'
  zpty -n -w shell $'${line}\\t\\x18'
  zpty -r shell seen '*<*>*'
  print -r -- "\${seen##*<}"
  zpty -d shell`;

const SHELLS = {
  bash: (line: string, console: string) => ask('/bin/bash', ['-c', inBash(line)], console),
  fish: (line: string, console: string) => ask('/usr/bin/fish', ['-c', inFish(line)], console),
  zsh: (line: string, console: string) => ask('/usr/bin/zsh', ['-f', '-c', inZsh(line)], console),
} as const;

/** A line, what its last word becomes, and what is not offered. */
const LINES: readonly (readonly [string, RegExp])[] = [
  ['shepherd flee', /fleet/],
  ['shepherd machine quara', /quarantine/],
  ['shepherd machines --needs', /--needs-human/],
  ['shepherd machines --state Recov', /Recovering/],
  ['shepherd machine show equinix/lon', /equinix\/lonely-7/],
];

test.each(['bash', 'fish', 'zsh'] as const)(
  'V46: %s completes verbs, flags, states and slots',
  async (shell) => {
    const fleet = scriptedFleet();
    fleet.put(machine('lonely-7'), machine('other-1'), machine('other-2'));
    ({ url } = await openConsole({ fleet }));
    for (const [line, becomes] of LINES) {
      // On a busy machine the console may not answer in time: then a person presses Tab again.
      await vi.waitFor(async () => {
        const told = await SHELLS[shell](line, url);
        expect(told, line).toMatch(becomes);
        expect(told, line).not.toMatch(/other-1|error/i);
      }, PATIENCE);
    }
  },
);

test('V46: a console that does not answer is waited for less than half a second', async () => {
  const waited: number[] = [];
  const silent = createServer((socket) => {
    const beforeMs = performance.now();
    socket.on('error', () => undefined);
    socket.once('close', () => waited.push(performance.now() - beforeMs));
    socket.resume();
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const complete = () => ask('/bin/sh', ['-c', COMPLETE], `http://127.0.0.1:${port}/`);
  // A busy machine is late now and then, but not each time.
  await vi.waitFor(async () => {
    expect(await complete()).toBe(':4\n');
    expect(Math.min(...waited)).toBeLessThan(500);
  }, PATIENCE);
  silent.close();
});
const COMPLETE = 'shepherd complete -- machine show equi';
