import { quote } from 'shell-quote';
import type { AuthContext } from 'ssh2';
import type { EmulatorLog } from '../../kit/log.ts';
import type { Play } from '../../hosts/commands.ts';
import { runOnChannel } from '../../hosts/exec-channel.ts';
import { isAuthorized, readKey } from '../../hosts/keys.ts';
import type { Visit } from '../../hosts/ssh-server.ts';
import { asBytes, bytesToText, type Host, textInput, textToBytes } from '../shell/process.ts';
import { runScript } from '../shell/run.ts';
import { newShell } from '../shell/state.ts';
import { linesOf } from '../shell/tools/options.ts';
import { AUTHORIZED_KEYS_PATH, HOST_KEY_PATH } from './disk-tree.ts';

/** A kernel that lives, and what runs on it. */
export interface System {
  readonly kind: 'rescue' | 'disk';
  bootId: string;
  readonly host: Host;
  /** Ends everything on it. */
  end(): void;
}

export interface SystemDeps {
  readonly log: EmulatorLog;
  /** Counts what goes on by itself until it ends. */
  run(work: () => Promise<void>): void;
  /** No command ends any more. */
  hangs(): boolean;
}

/** How one connection to the system is served: root, by key alone. */
export const visitOf = ({ host }: System, deps: SystemDeps): Visit => ({
  hostKey: host.files.read(HOST_KEY_PATH),
  authenticate(attempt: AuthContext) {
    const keys = keysOf(host, deps.log);
    if (attempt.username === 'root' && isAuthorized(attempt, keys)) attempt.accept();
    else attempt.reject(['publickey']);
  },
  exec: (line, channel) =>
    runOnChannel(line, channel, async () => playLine(line, host, deps), deps.log),
});

function keysOf({ files }: Host, log: EmulatorLog) {
  if (files.find(AUTHORIZED_KEYS_PATH)?.kind !== 'file') return [];
  return linesOf(files.read(AUTHORIZED_KEYS_PATH))
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      try {
        return [readKey(line)];
      } catch (err) {
        log.warn({ err }, 'a line of authorized_keys cannot be read');
        return [];
      }
    });
}

const nothing = () => undefined;

/** A command line, from its start to its end, as the shell of a login runs it. */
export const playLine =
  (line: string, host: Host, deps: SystemDeps): Play =>
  (stdin) =>
    new Promise((resolve) => {
      if (deps.hangs()) return;
      deps.run(async () => {
        let stdout = '';
        let stderr = '';
        const streams = {
          input: textInput(bytesToText(stdin)),
          output: (text: string) => void (stdout += text),
          errors: (text: string) => void (stderr += text),
        };
        try {
          const exitCode = await runScript(asBytes(line), newShell(host), streams);
          const said = textToBytes(stderr).toString('utf8');
          resolve({ stdout: textToBytes(stdout), stderr: said, exitCode: exitCode & 0xff });
        } catch (err) {
          // A machine that ended says nothing: its connections are cut.
          if (!host.signal.aborted) deps.log.error({ err }, 'a command failed');
        }
      });
    });

/** The same, by its words. */
export const playWords = (argv: readonly string[], host: Host, deps: SystemDeps): Play =>
  playLine(quote([...argv]), host, deps);

/** Runs a command that nobody reads. Answers its status. */
export const runQuietly = (line: string, host: Host): Promise<number> =>
  runScript(line, newShell(host, { directory: '/' }), {
    input: textInput(''),
    output: nothing,
    errors: nothing,
  });
