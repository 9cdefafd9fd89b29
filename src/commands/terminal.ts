import { fstatSync, writeSync } from 'node:fs';
import { createLogUpdate } from 'log-update';
import type { Clock } from '../adapters/clock/port.ts';

/** A line at the bottom of a terminal that is updated while the log scrolls above it. */
export interface LiveLine {
  /** Writes log lines above the live line. `done` gets the error if that fails. */
  write(text: string, done?: (error?: Error | null) => void): void;
  set(text: string): void;
  /** Removes the line. */
  end(): void;
}

const REFRESH_MS = 200;

/** Without a terminal there is no live line, and `write` only writes. */
export function createLiveLine(
  stream: NodeJS.WriteStream & { readonly fd: number },
  clock: Clock,
): LiveLine {
  if (!stream.isTTY) {
    const write: LiveLine['write'] = fstatSync(stream.fd).isFile()
      ? wholeWriter((chunk) => writeSync(stream.fd, chunk))
      : (text, done) => void stream.write(text, done);
    return { write, set: () => undefined, end: () => undefined };
  }
  const update = createLogUpdate(stream);
  let line = '';
  let timer: unknown;
  const show = () => {
    timer = undefined;
    update(line);
  };
  return {
    write(text, done) {
      update.clear();
      stream.write(text, done);
      if (line !== '') update(line);
    },
    set(text) {
      line = text;
      timer ??= clock.setTimeout(show, REFRESH_MS);
    },
    end() {
      clock.clearTimeout(timer);
      line = '';
      update.clear();
      update.done();
    },
  };
}

/** Writes whole lines to a file. Node's own stream hides that only a part of a line was written. */
export const wholeWriter =
  (write: (chunk: Uint8Array) => number): LiveLine['write'] =>
  (text, done) => {
    try {
      for (let left = Buffer.from(text); left.length > 0;) left = left.subarray(write(left));
    } catch (error) {
      done?.(error as Error);
      return;
    }
    done?.();
  };

/** Draws a text on a terminal, and draws it again when it changes. */
export const redrawing = (stream: NodeJS.WriteStream) =>
  // To restore a hidden cursor, log-update would end the process at Ctrl-C.
  createLogUpdate(sized(stream), { showCursor: true });

/** Some terminals report a size of 0, which means that the size is unknown. */
const sized = (stream: NodeJS.WriteStream): NodeJS.WritableStream =>
  new Proxy(stream, {
    get(target, name) {
      if (name === 'rows') return target.rows || undefined;
      if (name === 'columns') return target.columns || undefined;
      const found: unknown = Reflect.get(target, name);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
