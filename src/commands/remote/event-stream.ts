import type { StreamMessage } from './door.ts';

/** Messages of server-sent events (WHATWG HTML, 9.2.6), until the stream ends or breaks. */
export async function* eventsIn(source: AsyncIterable<Buffer>): AsyncIterable<StreamMessage> {
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | null = null;
  let event = 'message';
  let data: string[] = [];
  const take = (line: string): StreamMessage | null => {
    if (line === '') {
      const message = data.length === 0 ? null : { id, event, data: data.join('\n') };
      event = 'message';
      data = [];
      return message;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    else if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    return null;
  };
  try {
    for await (const chunk of source) {
      const text = rest + decoder.decode(chunk, { stream: true });
      // Its other half may still come.
      const held = text.endsWith('\r') ? '\r' : '';
      const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? '') + held;
      for (const line of lines) {
        const message = take(line);
        if (message) yield message;
      }
    }
  } catch (error) {
    // A connection that broke has ended; what cannot be read was never sent whole.
    if (!isBreak(error)) throw error;
  }
}

const isBreak = (error: unknown): boolean =>
  ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(
    String((error as NodeJS.ErrnoException).code),
  );
