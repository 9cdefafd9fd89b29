import { texts } from '../texts.ts';
import type { PreviewAnswer as Preview } from '../../src/console/api/filing/answers.ts';

/** The preview of a request: effect, loss, blockers and outcome. */
export function Prospect({ preview }: { readonly preview: Preview }) {
  const { would, lost, refusals, waits, outcomes, count } = preview;
  const one = count === 1;
  return (
    <dl className="prospect" aria-live="polite">
      {would !== null && (
        <>
          <dt>{texts.acts.would}</dt>
          <dd>{texts.acts.wouldBe(count, would)}</dd>
        </>
      )}
      {lost !== null && (
        <>
          <dt>{texts.acts.lost}</dt>
          <dd className="calls">{lost}</dd>
        </>
      )}
      <Reasons label={texts.acts.inTheWay} reasons={refusals} one={one} tone="calls" />
      <Reasons label={texts.acts.waits} reasons={waits} one={one} />
      <Reasons label={texts.acts.outcome} reasons={outcomes} one={one} />
      {refusals.length + waits.length === 0 && (
        <>
          <dt>{texts.acts.inTheWay}</dt>
          <dd className="quiet">{texts.acts.nothing}</dd>
        </>
      )}
    </dl>
  );
}

interface ReasonsProps {
  readonly label: string;
  readonly reasons: Preview['refusals'];
  readonly one: boolean;
  readonly tone?: string;
}

const Reasons = ({ label, reasons, one, tone }: ReasonsProps) =>
  reasons.length > 0 && (
    <>
      <dt>{label}</dt>
      {reasons.map(({ reason, count }) => (
        <dd key={reason} className={tone}>
          {one ? reason : texts.acts.ofMachines(count, reason)}
        </dd>
      ))}
    </>
  );
