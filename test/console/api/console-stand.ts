import { onTestFinished } from 'vitest';
import type { Console, ConsoleDeps } from '../../../src/console/console.ts';
import { startScriptedConsole } from '../scripted-console.ts';

/** A console on a free port of loopback, closed after the test. */
export async function openConsole(deps: Partial<ConsoleDeps> = {}): Promise<Console> {
  const opened = await startScriptedConsole(deps);
  onTestFinished(() => opened.close());
  return opened;
}

/** The JSON answer to a GET under `/api/v1/`. */
export async function askApi<Body>(
  { url }: Console,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await fetch(`${url}api/v1/${path}`, { headers });
  const text = await answer.text();
  const body = (text === '' ? null : JSON.parse(text)) as Body;
  return { status: answer.status, headers: answer.headers, text, body };
}
