import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { z } from 'zod';
import type { RecordingSchema } from '../../../src/console/api/inspector.ts';
import { addressOf, askFor, read } from '../../api/ask.ts';
import { Panel } from '../../parts/panel.tsx';
import { Scrolls } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import type { OpenRecording } from './inspector-page.tsx';
import { readRecording } from './story.ts';
import { words } from './words.ts';

type Recording = z.output<typeof RecordingSchema>;

const where = (id: string): string => addressOf(['inspector', 'recordings', id]);

export const recordings = queryOptions({
  queryKey: ['inspector', 'recordings'],
  queryFn: async ({ signal }) => {
    const address = addressOf(['inspector', 'recordings']);
    return (await read<{ recordings: readonly Recording[] }>(address, signal)).recordings;
  },
  refetchInterval: 5_000,
});

export interface RecordingsProps {
  readonly slot: string;
  readonly list: readonly Recording[];
  readonly take: (recording: OpenRecording) => void;
}

/** What is recorded: opened here, or saved for somebody else. */
export function Recordings({ slot, list, take }: RecordingsProps) {
  const queries = useQueryClient();
  const { mutate, error } = useMutation({
    mutationFn: (act: () => Promise<unknown>) => act(),
    onSettled: () => queries.invalidateQueries({ queryKey: recordings.queryKey }),
  });
  const record = () =>
    askFor(addressOf(['inspector', 'recordings']), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ slot }),
    });
  const show = async ({ id, subject }: Recording) => {
    const answer = await fetch(where(id));
    if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
    const name = `${subject ?? words.supervisor} (${id})`;
    take({ name, story: readRecording(await answer.text()) });
  };
  const aside =
    slot === '' ? (
      <span>{words.chooseFirst}</span>
    ) : (
      <button type="button" onClick={() => mutate(record)}>
        {words.record}
      </button>
    );
  return (
    <Panel title={words.recordings} aside={aside} className="recordings">
      {error && (
        <p role="alert" className="calls">
          {error.message}
        </p>
      )}
      {list.length === 0 ? (
        <p className="quiet">{words.noRecordings}</p>
      ) : (
        <Scrolls label={words.recordings}>
          <table>
            <thead>
              <tr>
                {words.columns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {list.map((each) => (
                <tr key={each.id}>
                  <th scope="row" className="slot">
                    {each.subject ?? words.supervisor}
                  </th>
                  <td>{words.why[each.why]}</td>
                  <td>
                    <Moment atMs={each.beganAtMs} />
                  </td>
                  <td className="number">{words.figure(each.messages)}</td>
                  <td className="number">{words.kilobytes(each.bytes)}</td>
                  <td>
                    <button type="button" onClick={() => mutate(() => show(each))}>
                      {words.show}
                    </button>{' '}
                    <a className="button" href={where(each.id)} download>
                      {words.save}
                    </a>{' '}
                    <button
                      type="button"
                      onClick={() => mutate(() => askFor(where(each.id), { method: 'DELETE' }))}
                    >
                      {words.remove}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
    </Panel>
  );
}
