// Labels of two prices: what each source cost, and what the cheap judge knows.

import { byId, element } from "./page.js";
import { cell, count, named, percent, plural, range, row, say, showTable } from "./owner-text.js";

const estimate = ({ value, low, high }) => value === null ? "-"
  : [percent(value), element("span", { class: "ci" }, range(low, high))];
const whole = (amount) => count(Math.round(amount));
const price = (amount) => amount.toLocaleString("en", { maximumSignificantDigits: 4 });

/** What was spent, of what the budget allows by now. */
function showMoney({ sources, planned, cap }) {
  const spent = sources.reduce((sum, source) => sum + source.spent, 0);
  const left = planned - spent;
  say("spent", whole(spent));
  byId("bar").hidden = false;
  byId("bar").max = Math.max(planned, 1);
  byId("bar").value = Math.min(spent, planned);
  say("left", `spent on labels. The budget allows ${whole(planned)} by now: ` +
    (left >= 0 ? `${whole(left)} left` : `${whole(-left)} spent early, to be repaid`) +
    (cap === null ? "" : `; at most ${whole(cap)} so far`));
}

function showJudge({ sources: [cheap, dear], judging, judge, verdict }) {
  say("verdict", "Does the judge know more than the model? " +
    `${verdict[0].toUpperCase()}${verdict.slice(1)}.`);
  say("judged", judge.value === null ? "" : `The judge is right in ${percent(judge.value)} ` +
    `of the rows that it answered (95 % CI ${range(judge.low, judge.high)}, ` +
    `${plural(judge.labels, "label")} of people).`);
  const heard = cheap.asked - judging;
  say("escalated", (heard ? `${percent(dear.asked / heard)} of its ${plural(heard, "answer")} went ` +
    `on to people.` : "") + (judging ? ` ${plural(judging, "question")} ${judging === 1 ? "waits" : "wait"} for it.` : ""));
}

export function showSources(found) {
  const { sources, classes } = found;
  byId("sources-card").hidden = !sources.length;
  if (!sources.length) return;
  showMoney(found);
  showJudge(found);
  showTable("sources", sources.map((source) => row(cell(named(source.name)),
    cell(price(source.price), "number"), cell(count(source.asked), "number"),
    cell(whole(source.spent), "number"))));
  showTable("judged-classes", classes.filter(({ recall }) => recall.labels).map((one) =>
    row(cell(named(`${one.label}`)), cell(estimate(one.recall), "number"),
      cell(estimate(one.precision), "number"))));
}
