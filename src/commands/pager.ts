import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** What `less` is to do unless `LESS` says otherwise: end at the end, keep the screen. */
const LESS = 'FRX';

/**
 * Writes a text to the standard output; on a terminal that it does not fit on, through `PAGER`, else
 * `less`. Where there is no pager it is just written.
 */
export async function sayPaged(
  text: string,
  output: NodeJS.WriteStream = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const fits = text.split('\n').length < (output.rows ?? Number.POSITIVE_INFINITY);
  if (output.isTTY !== true || fits || env['PAGER'] === '') {
    output.write(text);
    return;
  }
  if (!(await paged(text, env))) output.write(text);
}

/** @returns false: there is no such pager, or it could not be started. */
async function paged(text: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const pager = spawn(env['PAGER'] ?? 'less', {
    shell: true,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS, ...env },
  });
  // A person may leave the pager before the end.
  pager.stdin.on('error', () => undefined);
  pager.stdin.end(text);
  const [code] = (await once(pager, 'exit')) as [number | null];
  return code !== NOT_FOUND;
}

/** What a shell ends with where there is no such command. */
const NOT_FOUND = 127;
