import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openConsole } from '../console/api/console-stand.ts';
import { machine, scriptedFleet } from '../console/scripted-fleet.ts';
import { PATIENCE } from '../support/patience.ts';
import { requireFile, runProgram } from './debian-client.ts';

/** V46: real shells ask this program for completions of a word. */

const LAUNCHER = join(import.meta.dirname, '../../bin/shepherd.mjs');
const directory = mkdtempSync(join(tmpdir(), 'shepherd-completion-'));
let url: string;
beforeAll(async () => {
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

/** Shells run as other processes, because a console here answers only while nothing blocks it. */
async function ask(shell: string, args: readonly string[], console: string): Promise<string> {
  return runProgram(shell, args, {
    ...{ PATH: [directory, '/usr/bin', '/bin'].join(delimiter), SHEPHERD_URL: console },
    ...{ HOME: directory, XDG_CONFIG_HOME: directory, TERM: 'dumb' },
    ...{ NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
  });
}

/** Presses `keys` in a terminal of its own; prints the resulting line. */
const inTerminal = (shell: string, prepare: string, keys: string) => `
  cd ${directory}
  zmodload zsh/zpty
  zpty shell ${shell}
  zpty -w shell ${quoted(`${prepare}; printf '%s%s\\n' re ady`)}
  zpty -r shell seen '*ready*'
  zpty -n -w shell $${quoted(`${keys}\\t\\x18`)}
  zpty -r shell seen '*<*>*'
  print -r -- "\${\${seen##*<}%%>*}"
  zpty -d shell`;
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const inBash = (keys: string) =>
  inTerminal(
    'bash --norc -i',
    `PS1=; source ${directory}/completion.bash; show() { printf '<%s>' "$READLINE_LINE"; }; bind -x '"\\C-x": show'`,
    keys,
  );
const inZsh = (keys: string) =>
  inTerminal(
    'zsh -f -i',
    `PROMPT=; autoload -Uz compinit && compinit -u -D; source ${directory}/completion.zsh; show-line() { print -r -- "<\${BUFFER}>" }; zle -N show-line; bindkey "^X" show-line`,
    keys,
  );
const inFish = (line: string) => `
  cd ${directory}
  source ${directory}/completion.fish
  complete -C '${line}'`;

const SHELLS = {
  bash: (line: string, console: string) => ask('/usr/bin/zsh', ['-f', '-c', inBash(line)], console),
  fish: (line: string, console: string) => ask('/usr/bin/fish', ['-c', inFish(line)], console),
  zsh: (line: string, console: string) => ask('/usr/bin/zsh', ['-f', '-c', inZsh(line)], console),
} as const;

/** A line, the completion of its last word, and words that are not offered. */
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
      // On a busy machine the console may answer too late: then a person presses Tab again.
      await vi.waitFor(async () => {
        const told = await SHELLS[shell](line, url);
        expect(told, line).toMatch(becomes);
        expect(told, line).not.toMatch(/other-1|error/i);
      }, PATIENCE);
    }
  },
);

/** Each runs `touch pwned`, or is an option, if a shell treats it as more than a name. */
const HOSTILE = [
  ...['$(touch pwned)', '`touch pwned`', ';touch pwned', '&touch pwned', '|touch pwned'],
  ...['<(touch pwned)', "'$(touch pwned)'", '"$(touch pwned)"', '\\$(touch pwned)', ' touch pwned'],
  ...['{a,$(touch pwned)}', '${x:-$(touch pwned)}', '$[a[$(touch pwned)]]', '\rtouch pwned\r'],
  ...['\ttouch pwned', '\u0000', '\u001b[2J', '\u202e', '*', '~root', '!!', '@host'],
];

test.each(['bash', 'fish', 'zsh'] as const)(
  'E1: %s runs nothing from a provider’s names, and offers only plain names',
  async (shell) => {
    const fleet = scriptedFleet();
    fleet.put(machine('evil-plain'), ...HOSTILE.map((text) => machine(`evil${text}`)));
    ({ url } = await openConsole({ fleet }));
    await vi.waitFor(async () => {
      const told = await SHELLS[shell]('shepherd machine show equinix/evil', url);
      expect(told.trim()).toMatch(/^(?:shepherd machine show )?equinix\/evil-plain$/);
    }, PATIENCE);
    // A pasted name is not run either.
    await SHELLS[shell]('shepherd machine show $(touch pwned) equinix/evil', url);
    expect(existsSync(join(directory, 'pwned'))).toBe(false);
  },
);

test('V46: waits less than half a second for a silent console', async () => {
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
  // A busy machine is late sometimes, but not each time.
  await vi.waitFor(async () => {
    expect(await complete()).toBe('');
    expect(Math.min(...waited)).toBeLessThan(500);
  }, PATIENCE);
  silent.close();
});
const COMPLETE = 'shepherd complete -- machine show equi';
