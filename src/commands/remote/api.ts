import { UsageError } from '../../domain/errors.ts';
import { API, requireSuccess, type Question } from './client.ts';
import type { Session, CommandOutput } from './session.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export interface ApiFlags {
  readonly data?: string;
  readonly header: readonly string[];
}

/** `shepherd api METHOD PATH`: sends one request to the API, for everything that has no command. */
export async function callApi(
  { client, signal }: Session,
  { data, header }: ApiFlags,
  name: string,
  path: string,
): Promise<CommandOutput> {
  const method = METHODS.find((each) => each === name.toUpperCase());
  if (method === undefined)
    throw new UsageError(`${name} is not a method; give one of ${METHODS.join(', ')}`);
  const [bare = '', search = ''] = path.split('?', 2);
  const below = bare.startsWith(`${API}/`) ? bare : `${API}/${bare.replace(/^\/+/, '')}`;
  const headers = Object.fromEntries(header.map(headerOf));
  const question: Question = {
    ...{ method, path: below, headers, signal },
    query: Object.fromEntries(new URLSearchParams(search)),
    ...(data !== undefined && { body: bodyOf(data) }),
  };
  const reply = await client.transport.send(question);
  requireSuccess(reply, question);
  return { text: reply.text.trimEnd() };
}

function headerOf(text: string): [string, string] {
  const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(`--header "${text}" has the wrong form; give "name: value"`);
  }
  return [name.toLowerCase(), value];
}

function bodyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--data is not JSON; check the quotes');
  }
}
