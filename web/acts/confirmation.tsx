import { texts } from '../texts.ts';

/** How much care a request asks of a person. Destroying: what is lost cannot be had back. */
export type Care = 'plain' | 'careful' | 'destroying';
/** Characters of a slot, from its end, that are typed before something is destroyed. */
const TYPED_CHARACTERS = 8;

export interface ConfirmationProps {
  readonly care: Care;
  readonly slots: readonly string[];
  readonly typed: string;
}

/** What is typed before it is asked for; null: nothing. */
function expected({ care, slots }: Pick<ConfirmationProps, 'care' | 'slots'>): string | null {
  if (slots.length > 1) return String(slots.length);
  return care === 'destroying' && slots[0] !== undefined ? slots[0].slice(-TYPED_CHARACTERS) : null;
}

/** Whether what was typed is what was asked for. */
export const isConfirmed = (props: ConfirmationProps): boolean => {
  const wanted = expected(props);
  return wanted === null || props.typed === wanted;
};

/** For several their number, for what destroys the end of the slot. */
export function Confirmation({
  type,
  ...props
}: ConfirmationProps & { readonly type: (text: string) => void }) {
  const { slots, typed } = props;
  if (expected(props) === null) return null;
  return (
    <label>
      {slots.length > 1 ? texts.acts.typeNumber(slots.length) : texts.acts.typeEnd(slots[0] ?? '')}
      <input
        className="mono"
        name="confirmation"
        value={typed}
        onChange={({ target }) => type(target.value)}
        autoComplete="off"
        spellCheck={false}
      />
    </label>
  );
}
