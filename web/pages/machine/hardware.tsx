import { useQuery } from '@tanstack/react-query';
import { hardware } from '../../api/machine.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';

export interface HardwareProps {
  readonly slot: readonly [string, string];
  readonly machineId: string | null;
}

/** The hardware report of the agent. */
export function HardwareReport({ slot, machineId }: HardwareProps) {
  return (
    <Panel title={texts.machine.hardware} className="hardware">
      <Loaded query={useQuery(hardware(slot, machineId))}>
        {({ report }) =>
          report === null ? (
            <p className="quiet">{texts.machine.noHardware}</p>
          ) : (
            <Fields of={report} depth={0} />
          )
        }
      </Loaded>
    </Panel>
  );
}

type Message = Readonly<Record<string, unknown>>;
const isMessage = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPlain = (value: unknown): value is string | number | boolean =>
  ['string', 'number', 'boolean'].includes(typeof value);

/** Nested parts of the report. The outermost parts are open. */
function Fields({ of, depth }: { readonly of: Message; readonly depth: number }) {
  return (
    <ul>
      {Object.entries(of).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map((each: unknown, at) => {
          const label = Array.isArray(value) && value.length > 1 ? `${name} ${at + 1}` : name;
          if (isPlain(each)) {
            return (
              <li key={label}>
                <span className="quiet">{label}</span> {String(each)}
              </li>
            );
          }
          return isMessage(each) ? (
            <li key={label}>
              <details open={depth === 0}>
                <summary>{label}</summary>
                <Fields of={each} depth={depth + 1} />
              </details>
            </li>
          ) : null;
        }),
      )}
    </ul>
  );
}
