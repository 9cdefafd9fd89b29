import { z } from 'zod';
import type { HttpReply } from '../../../http/exchange.ts';
import type { Redact } from '../../../kit/redact.ts';

export type Json = Readonly<Record<string, unknown>>;

/** What a BMC says in an answer. */
export interface Message {
  /** The last part of its `MessageId`: registries and their versions differ. */
  readonly id: string;
  /** Without secrets, shortened. */
  readonly text: string;
  readonly severity: string;
}

export interface Reply extends Pick<HttpReply, 'status' | 'headers'> {
  /** Where it came from, after redirects. */
  readonly path: string;
  /** Undefined: there was no body, or none that is a JSON object. */
  readonly json: Json | undefined;
  /** Neither empty nor JSON. */
  readonly isGarbage: boolean;
  readonly messages: readonly Message[];
}

const TEXT_LENGTH_MAX = 300;
const MESSAGES_MAX = 8;

export function readReply(
  { status, headers, text }: HttpReply,
  path: string,
  redact: Redact,
): Reply {
  const json = parse(text);
  const isGarbage = json === undefined && text.trim() !== '';
  return { status, headers, path, json, isGarbage, messages: messagesOf(json, redact) };
}

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parser's own error quotes the text, so it is not kept. */
function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const Info = z.object({
  MessageId: z.string().catch(''),
  Message: z.string().catch(''),
  MessageSeverity: z.string().optional().catch(undefined),
  Severity: z.string().optional().catch(undefined),
});

/** Of an error, or of a success that has something to say. The list may be one object, or absent. */
function messagesOf(json: Json | undefined, redact: Redact): Message[] {
  if (!json) return [];
  const error = isObject(json['error']) ? json['error'] : json;
  const told = error['@Message.ExtendedInfo'];
  const infos = (Array.isArray(told) ? (told as unknown[]) : [told])
    .slice(0, MESSAGES_MAX)
    .flatMap((one) => {
      const info = Info.safeParse(one);
      return info.success ? [messageOf(info.data, redact)] : [];
    });
  if (infos.length > 0 || error === json) return infos;
  const { code, message } = error;
  return [messageOf({ MessageId: textOf(code), Message: textOf(message) }, redact)];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const messageOf = (
  { MessageId, Message: said, MessageSeverity, Severity }: z.output<typeof Info>,
  redact: Redact,
): Message => ({
  id: redact(MessageId.split('.').at(-1) ?? '').slice(0, 80),
  text: redact(said).slice(0, TEXT_LENGTH_MAX),
  severity: (MessageSeverity ?? Severity ?? '').slice(0, 20),
});

/** For people: ids and texts. */
export const saidIn = ({ messages }: Pick<Reply, 'messages'>): string =>
  messages
    .map(({ id, text }) => [id, text].filter(Boolean).join(': '))
    .join('; ')
    .slice(0, TEXT_LENGTH_MAX);

/** Of a resource, for `If-Match`; an empty one is none. */
export const etagOf = ({ headers, json }: Pick<Reply, 'headers' | 'json'>): string | null => {
  const told = headers.etag ?? textOf(json?.['@odata.etag']);
  return told.trim() === '' ? null : told.trim();
};
