import { createLogUpdate } from 'log-update';
import type { Clock } from '../adapters/clock/port.ts';

/** One line at the bottom of a terminal that is kept up to date while the log scrolls above it. */
export interface LiveLine {
  /** Writes log lines above the live line. */
  write(text: string): void;
  set(text: string): void;
  /** Takes the line away. */
  end(): void;
}

const REFRESH_MS = 200;

/** On anything but a terminal there is no live line, and `write` just writes. */
export function createLiveLine(stream: NodeJS.WriteStream, clock: Clock): LiveLine {
  if (!stream.isTTY) {
    return { write: (text) => void stream.write(text), set: () => undefined, end: () => undefined };
  }
  const update = createLogUpdate(stream);
  let line = '';
  let timer: unknown;
  const show = () => {
    timer = undefined;
    update(line);
  };
  return {
    write(text) {
      update.clear();
      stream.write(text);
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
