// Judged cases for ranking.ts. Each group is six documents of one domain, so that every wrong
// answer shares words with the right one. Written before the ranking was tuned; the groups of
// `heldOut` were never looked at while tuning.

export interface RankingGroup {
  readonly documents: readonly string[];
  /** [query, index of its one best document] */
  readonly queries: readonly (readonly [query: string, best: number])[];
}

export const tuning: readonly RankingGroup[] = [
  {
    documents: [
      "Refunds are issued to the original payment method within five business days of approval.",
      "You can change your shipping address until the parcel leaves our warehouse.",
      "To cancel a subscription, open Billing and choose End plan; access lasts until the period ends.",
      "Payment by card, bank transfer and gift card is accepted at checkout.",
      "Damaged items must be reported with photographs within fourteen days of delivery.",
      "Orders above fifty euros ship free of charge within the country.",
    ],
    queries: [
      ["how long does a refund take", 0],
      ["cancelling my subscription plan", 2],
      ["which payments do you accept", 3],
      ["my item arrived damaged, what now", 4],
      ["free shipping for large orders", 5],
    ],
  },
  {
    documents: [
      "The mitochondrion produces most of the cell's supply of ATP through respiration.",
      "Ribosomes read messenger RNA and assemble proteins from amino acids.",
      "The cell membrane regulates which substances enter and leave the cell.",
      "Chloroplasts capture light and convert it into chemical energy in plants.",
      "The nucleus stores the genetic material of the cell, packed as chromosomes.",
      "Lysosomes contain enzymes that digest waste inside the cell.",
    ],
    queries: [
      ["where are proteins assembled in a cell", 1],
      ["organelle that produces ATP", 0],
      ["what regulates substances entering the cell", 2],
      ["how do plants convert light to energy", 3],
      ["enzymes digesting cell waste", 5],
    ],
  },
  {
    documents: [
      "Use git rebase to replay your commits on top of another branch and keep history linear.",
      "git stash shelves uncommitted changes so that you can switch branches.",
      "A merge commit joins two branches and keeps both histories.",
      "git bisect finds the commit that introduced a bug by binary search.",
      "git revert creates a new commit that undoes an earlier commit.",
      "Tags mark a commit as a release and do not move.",
    ],
    queries: [
      ["undo an earlier commit", 4],
      ["find which commit introduced the bug", 3],
      ["shelve changes before switching branch", 1],
      ["keep a linear history when replaying commits", 0],
      ["marking a release", 5],
    ],
  },
  {
    documents: [
      "Knead the dough for ten minutes until it is smooth and elastic.",
      "Simmer the tomato sauce gently with basil and garlic for half an hour.",
      "Marinate the chicken in yoghurt and spices overnight before grilling.",
      "Whisk the egg whites to stiff peaks and fold in the sugar for meringue.",
      "Soak the dried beans in cold water overnight, then boil until tender.",
      "Rest the steak for five minutes after frying so that the juices settle.",
    ],
    queries: [
      ["how long to knead bread dough", 0],
      ["marinating chicken with spice", 2],
      ["meringue egg whites", 3],
      ["do dried beans need soaking", 4],
      ["why rest a steak after you fry it", 5],
      ["tomatoe sauce with garlick", 1],
    ],
  },
  {
    documents: [
      "The museum is closed on Mondays and opens at ten on other days.",
      "Tickets for the night train to Vienna are sold at the station and online.",
      "The airport bus departs every twenty minutes from the central square.",
      "Visitors from abroad need a passport valid for six months after arrival.",
      "Bicycles can be hired beside the river for a day or a week.",
      "Tap water is safe to drink everywhere in the city.",
    ],
    queries: [
      ["is the museum open on monday", 0],
      ["bus to the airport departure", 2],
      ["buy night train ticket", 1],
      ["passport validity for foreign visitors", 3],
      ["hire a bicycle", 4],
      ["can I drink the tap water", 5],
    ],
  },
];

export const heldOut: readonly RankingGroup[] = [
  {
    documents: [
      "Either party may terminate this agreement with thirty days' written notice.",
      "The supplier warrants that the goods are free from defects for two years.",
      "All confidential information must be returned or destroyed upon request.",
      "Invoices are payable within thirty days; late payment bears interest.",
      "The liability of the supplier is limited to the price paid in the last year.",
      "Disputes are settled by arbitration in Geneva under Swiss law.",
    ],
    queries: [
      ["terminating the agreement early, notice period", 0],
      ["interest on late payments of an invoice", 3],
      ["how are disputes resolved, arbitration", 5],
      ["limit of the supplier's liability", 4],
      ["warranty against defective goods", 1],
    ],
  },
  {
    documents: [
      "Type 2 diabetes is managed with diet, exercise and, when needed, metformin.",
      "Migraine attacks may be triggered by lack of sleep, stress or bright light.",
      "Adults should have their blood pressure measured at least every five years.",
      "Asthma inhalers relax the airways and relieve wheezing.",
      "A sprained ankle heals faster with rest, ice, compression and elevation.",
      "Vaccination against influenza is offered each autumn to older adults.",
    ],
    queries: [
      ["what triggers a migraine", 1],
      ["influenza vaccine for the elderly adults", 5],
      ["how often to measure blood pressure", 2],
      ["treating an ankle sprain with ice", 4],
      ["inhaler for asthma wheeze", 3],
      ["managing diabetes by exercising", 0],
    ],
  },
  {
    documents: [
      "An index speeds up reads of a table at the cost of slower writes.",
      "A transaction groups statements so that all of them succeed or none.",
      "Replication copies the data to standby servers for availability.",
      "Vacuum reclaims the storage of dead rows in a table.",
      "A foreign key guarantees that a referenced row exists.",
      "Connection pooling reuses server connections among many clients.",
    ],
    queries: [
      ["speeding up table reads with indexes", 0],
      ["all statements succeed or none of them", 1],
      ["reclaim storage from dead rows", 3],
      ["pool database connections between clients", 5],
      ["replicate data to a standby", 2],
      ["guarantee a referenced row exists", 4],
    ],
  },
  {
    documents: [
      "The central bank raised interest rates by a quarter point to slow inflation.",
      "Shares of the carmaker fell after it recalled half a million vehicles.",
      "Unemployment dropped to its lowest level in twelve years, the ministry said.",
      "Oil prices climbed as producers agreed to cut output.",
      "The startup raised forty million dollars from investors to build batteries.",
      "Housing sales slowed while mortgage rates stayed high.",
    ],
    queries: [
      ["bank raising rates against inflation", 0],
      ["car recall share price falls", 1],
      ["lowest unemployment in years", 2],
      ["why did the price of oil climb", 3],
      ["investor money for a battery startup", 4],
      ["mortgages and house sales", 5],
    ],
  },
  {
    documents: [
      "東京タワーは港区にある電波塔です。",
      "富士山は日本で最も高い山です。",
      "El gato duerme sobre la alfombra roja de la sala.",
      "La bibliothèque municipale ferme à dix-huit heures le samedi.",
      "Der Zug nach München hat zwanzig Minuten Verspätung.",
      "京都には古い寺院が多くあります。",
    ],
    queries: [
      ["日本で一番高い山", 1],
      ["京都の寺院", 5],
      ["dónde duermen los gatos", 2],
      ["à quelle heure ferme la bibliothèque", 3],
      ["Zug München verspätet", 4],
    ],
  },
  {
    // Longer texts, and neighbours that repeat a word of the query more often than the right one.
    documents: [
      "Battery, battery, battery: our store has every battery you can think of, from button cells to car batteries, at the best battery prices in town. Ask for our battery club card.",
      "If the phone does not charge, clean the port, try another cable and check that the charger delivers enough power. A battery below zero degrees refuses to charge.",
      "The phone's screen can be repaired in most of our shops while you wait. Bring the phone and a proof of purchase; a cracked screen is not covered by the guarantee.",
      "To make the battery last longer, lower the brightness of the screen, switch off background refresh and avoid charging to one hundred percent every night.",
      "Transfer your contacts from an old phone by switching both phones on, placing them side by side and following the instructions on the screen.",
      "The guarantee covers faults of the phone for two years after purchase. Water damage and cracked screens are excluded; batteries are covered for one year.",
    ],
    queries: [
      ["phone will not charge with the cable", 1],
      ["make my phone battery last longer", 3],
      ["repairing a cracked screen in a shop", 2],
      ["is the battery covered by the guarantee", 5],
      ["move contacts from the old phone to the new phone", 4],
      ["battery prices", 0],
    ],
  },
];

/** Hardly a shared word: what a lexical ranking cannot know. Measured and printed, not promised. */
export const paraphrased: readonly RankingGroup[] = [
  {
    documents: [
      "The physician prescribed tablets to lower her temperature.",
      "Our attorney filed the lawsuit on Tuesday.",
      "Heavy rain flooded several streets downtown.",
      "The toddler fell asleep in the car.",
      "Ticket sales for the concert begin tomorrow.",
      "He repaired the engine of the old lorry.",
    ],
    queries: [
      ["doctor gave medicine for a fever", 0],
      ["the lawyer sued", 1],
      ["storm put roads under water", 2],
      ["sleeping child in a vehicle", 3],
      ["when can I buy entry to the show", 4],
      ["fixing a truck motor", 5],
    ],
  },
];
