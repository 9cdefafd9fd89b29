import { useQuery } from '@tanstack/react-query';
import { loops, sessions, type SessionLine } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Notice, Panel } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { EndedTable, LivingTable } from './session-tables.tsx';
import { LoopTable } from './loop-table.tsx';

/** The page of daemons: sessions, their work, and the loops of the daemon that serves the page. */
export function DaemonsPage() {
  const told = useQuery(sessions);
  const looping = useQuery(loops);
  return (
    <>
      <h1>{texts.pages.daemons}</h1>
      <Loaded query={told}>
        {({ sessions: all }) => (
          <div className="stack" data-ready>
            <Skew sessions={all.filter(isAlive)} />
            <Panel title={texts.daemons.alive} className="sessions">
              <LivingTable sessions={all.filter(isAlive)} />
            </Panel>
            <Loaded query={looping}>
              {({ loops: done }) => (
                <Panel
                  title={texts.daemons.loops}
                  aside={<span className="quiet">{texts.daemons.loopsOf}</span>}
                  className="loops"
                >
                  <LoopTable loops={done} sessions={all} />
                </Panel>
              )}
            </Loaded>
            <Panel title={texts.daemons.ended} className="ended">
              <EndedTable sessions={all.filter((each) => !isAlive(each))} />
            </Panel>
          </div>
        )}
      </Loaded>
    </>
  );
}

const isAlive = ({ endedAtMs }: SessionLine): boolean => endedAtMs === null;

/** Warns that daemons of several versions or schemas run, as during an upgrade. */
function Skew({ sessions: alive }: { readonly sessions: readonly SessionLine[] }) {
  const versions = new Set(alive.flatMap(({ version }) => version ?? []));
  if (versions.size < 2) return null;
  return <Notice tone="warn">{texts.daemons.skew([...versions].toSorted().join(', '))}</Notice>;
}
