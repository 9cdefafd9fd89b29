import { useInfiniteQuery } from '@tanstack/react-query';
import { slotsOf } from '../../api/resources.ts';
import type { Slot } from '../../api/types.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StateMark } from '../../parts/state.tsx';
import { Table } from '../../parts/table.tsx';
import { Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

const PAGE_ROWS = 50;

/** The slots in the listing of a provider, in pages. */
export function Slots({ provider }: { readonly provider: string }) {
  const query = useInfiniteQuery(slotsOf(provider, PAGE_ROWS));
  const shown = query.data?.pages.flatMap(({ slots }) => slots) ?? [];
  const total = query.data?.pages.at(-1)?.total ?? 0;
  return (
    <Panel
      title={texts.providers.slots}
      aside={<span>{texts.providers.slotCount(shown.length, total)}</span>}
      className="slots"
    >
      <Loaded query={query}>
        {() => (
          <Table label={texts.providers.slots} columns={texts.providers.slotColumns}>
            {shown.map((slot) => (
              <Row key={slot.slot} {...slot} />
            ))}
          </Table>
        )}
      </Loaded>
      {query.hasNextPage && (
        <p>
          <button
            type="button"
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {texts.providers.next}
          </button>
        </p>
      )}
    </Panel>
  );
}

const Row = ({
  slot,
  use,
  ownership,
  plan,
  state,
  substate,
  providerId,
  shelf,
  conflict,
}: Slot) => (
  <tr>
    <th scope="row">
      <MachineLink slot={slot} />
    </th>
    <td>{texts.providers.use[use]}</td>
    <td>{ownership ?? texts.none}</td>
    <td>{plan ?? texts.none}</td>
    <td>
      <StateMark state={state} substate={substate} />
      {conflict !== null && <p className="calls">{conflict}</p>}
    </td>
    <td className="mono">{providerId ?? texts.none}</td>
    <td>{shelf !== null && <Until atMs={shelf.untilMs} />}</td>
  </tr>
);
