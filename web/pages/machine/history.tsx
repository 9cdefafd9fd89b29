import { useInfiniteQuery } from '@tanstack/react-query';
import { foldHistory, type FoldedLine } from '../../../src/domain/history/fold.ts';
import { history } from '../../api/machine.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

export interface HistoryProps {
  readonly slot: readonly [string, string];
  /** On the slot now. */
  readonly machineId: string | null;
}

/** The history, newest first, and the earlier machines on the slot. Repetitions are folded, failures are not. */
export function History({ slot, machineId }: HistoryProps) {
  const query = useInfiniteQuery(history(slot));
  return (
    <Loaded query={query}>
      {({ pages }) => {
        const tenants = (pages[0]?.tenants ?? []).filter((each) => each.machineId !== machineId);
        return (
          <>
            <Panel title={texts.machine.history} className="history">
              <Lines lines={foldHistory(pages.flatMap(({ lines }) => lines))} />
              {query.hasNextPage && (
                <p>
                  <button
                    type="button"
                    disabled={query.isFetchingNextPage}
                    onClick={() => void query.fetchNextPage()}
                  >
                    {texts.machine.older}
                  </button>
                </p>
              )}
            </Panel>
            <Panel title={texts.machine.tenants} className="tenants">
              {tenants.length === 0 ? (
                <p className="quiet">{texts.machine.noTenants}</p>
              ) : (
                <Table label={texts.machine.tenants} columns={texts.machine.tenantColumns}>
                  {tenants.map((tenant) => (
                    <tr key={tenant.machineId} data-tenant={tenant.machineId}>
                      <th scope="row" className="mono">
                        {tenant.machineId}
                      </th>
                      <td>
                        <Ago atMs={tenant.firstAtMs} />
                      </td>
                      <td>
                        <Ago atMs={tenant.lastAtMs} />
                      </td>
                    </tr>
                  ))}
                </Table>
              )}
            </Panel>
          </>
        );
      }}
    </Loaded>
  );
}

function Lines({ lines }: { readonly lines: readonly FoldedLine[] }) {
  if (lines.length === 0) return <p className="quiet">{texts.machine.noHistory}</p>;
  return (
    <Table label={texts.machine.history} columns={texts.machine.historyColumns}>
      {lines.map((line, at) => (
        <tr
          key={`${line.atMs} ${line.kind} ${line.process} ${at}`}
          data-kind={line.kind}
          data-failure={line.isFailure || undefined}
        >
          <td>
            <Ago atMs={line.atMs} />
          </td>
          <td>
            {line.process ?? ''} {line.kind}
            {line.count > 1 && <span className="chip">{texts.machine.times(line.count)}</span>}
            {line.isFailure && <span className="spoken"> {texts.machine.failure}</span>}
          </td>
          <td>{line.actor ?? texts.none}</td>
          <td className="why">
            {line.reason}
            {(line.from !== null || line.to !== null) && (
              <span>
                {' '}
                {line.from ?? texts.none} → {line.to ?? texts.none}
              </span>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
