import type { Machine } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Ago, Begin, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** Holds, and open requests. */
export const Operators = ({ machine: { holdRows, requests, quarantine } }: Props) => (
  <Panel title={texts.machine.operators} className="operators">
    {holdRows.length + requests.length === 0 && quarantine === null && (
      <p className="quiet">{texts.machine.nothingAsked}</p>
    )}
    <ul>
      {quarantine !== null && (
        <li>
          <span className="chip" data-alarm>
            {texts.machine.quarantine(quarantine.kind)}
          </span>
          {quarantine.untilMs !== null && <Until atMs={quarantine.untilMs} />}
          <p className="why">{quarantine.reason}</p>
        </li>
      )}
      {holdRows.map(({ kind, setBy, reason, fromMs, untilMs }) => (
        <li key={kind} data-hold={kind}>
          <span className="chip" data-alarm>
            {kind}
          </span>
          <span>{texts.machine.by(setBy)}</span>
          <span className="quiet">
            {fromMs !== null && <Begin atMs={fromMs} />}
            {untilMs === null ? texts.machine.endOf(setBy) : <Until atMs={untilMs} />}
          </span>
          <p className="why">{reason}</p>
        </li>
      ))}
      {requests.map(({ key, verb, by, reason, createdAtMs, expiresAtMs }) => (
        <li key={key} data-request={verb}>
          <span className="chip">{verb}</span>
          <span>{texts.machine.by(by)}</span>
          <span className="quiet">
            <Ago atMs={createdAtMs} />, {texts.machine.expires} <Until atMs={expiresAtMs} />
          </span>
          <p className="why">{reason}</p>
        </li>
      ))}
    </ul>
  </Panel>
);

interface Props {
  readonly machine: Machine;
}
