import { readStream } from '../../console/api/stream-reader.ts';
import type { ReadersRequest } from './readers.ts';

/** Pages in a process of their own: each reads a window of the list, half of them in another order. */
process.once('message', (request) => {
  const { consoleUrl, readers } = request as ReadersRequest;
  const orders = ['slot', '-state'];
  const opened = Array.from({ length: readers }, (_, at) =>
    readStream(`${consoleUrl}api/v1/stream?view=list&limit=100&sort=${orders[at % 2]}`),
  );
  void Promise.all(opened).then(() => process.send!('ready'));
});
process.once('disconnect', () => process.exit());
