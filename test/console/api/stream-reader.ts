import { request, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface StreamEvent {
  readonly id: string | null;
  readonly type: string;
  readonly data: Record<string, unknown>;
}

/** Polls, with a generous limit. */
async function until(isThere: () => boolean): Promise<void> {
  const endsAtMs = Date.now() + 30_000;
  while (!isThere()) {
    if (Date.now() > endsAtMs) throw new Error('what was waited for did not come');
    await pause(5);
  }
}

/** Reads a stream of the console like the page. */
export async function readStream(
  url: string,
  lastEventId?: string,
  shown: Readonly<Record<string, string>> = {},
) {
  const events: StreamEvent[] = [];
  let lastId: string | null = null;
  let bytes = 0;
  const headers = { ...shown, ...(lastEventId !== undefined && { 'last-event-id': lastEventId }) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(url, { headers, agent: false }, resolve);
    outgoing.on('error', reject);
    outgoing.end();
  });
  let rest = '';
  const ended = new Promise<void>((resolve) => response.once('close', resolve));
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    bytes += chunk.length;
    const messages = `${rest}${chunk}`.split('\n\n');
    rest = messages.pop()!;
    for (const message of messages) {
      const fields = new Map(
        message.split('\n').map((line) => {
          const at = line.indexOf(': ');
          return [line.slice(0, at), line.slice(at + 2)] as const;
        }),
      );
      const type = fields.get('event');
      if (type === undefined) continue;
      const id = fields.get('id') ?? null;
      lastId = id ?? lastId;
      events.push({
        id,
        type,
        data: JSON.parse(fields.get('data') ?? '{}') as StreamEvent['data'],
      });
    }
  });
  response.on('error', () => undefined);
  return {
    response,
    events,
    ended,
    lastId: () => lastId,
    bytes: () => bytes,
    ofType: (type: string) => events.filter((event) => event.type === type),
    until,
    hangUp: () => response.destroy(),
  };
}
